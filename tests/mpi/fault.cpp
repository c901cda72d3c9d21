// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>

// For LD_PRELOAD: breaks a call of MPI on one rank. ROOFMARK_FAULT says which, and how, in words of the form key=value:
//   call     MPI_Allreduce, MPI_Sendrecv or MPI_Init_thread
//   rank     in MPI_COMM_WORLD
//   count    elements, 0 of MPI_Init_thread; what the ranks tell one another has other counts than what they measure
//   from     the first of these calls to break, from 1; all later ones are broken too
//   do       kill, stop   raises SIGKILL or SIGSTOP before the call
//            late         sleeps for `seconds` after it, as a rank that comes late from its own work
//            corrupt      changes element `index` of what it gave
//            fail         says that it failed
namespace {

struct Fault {
  std::map<std::string, std::string> words;
  int rank = 0, count = 0, from = 1, calls = 0;

  Fault() {
    const char* text = std::getenv("ROOFMARK_FAULT");
    if (!text) throw std::runtime_error("ROOFMARK_FAULT is not set");
    std::istringstream line(text);
    for (std::string word; line >> word;) words[word.substr(0, word.find('='))] = word.substr(word.find('=') + 1);
    rank = std::stoi(words.at("rank"));
    count = std::stoi(words.at("count"));
    if (words.contains("from")) from = std::stoi(words.at("from"));
  }

  bool is_due(const char* name, int elements) {
    if (words.at("call") != name || elements != count) return false;
    return own_rank() == rank && ++calls >= from;
  }

  static int own_rank() {
    int begun = 0, own = -1;
    PMPI_Initialized(&begun);
    if (begun) {
      PMPI_Comm_rank(MPI_COMM_WORLD, &own);
      return own;
    }
    for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
      if (const char* text = std::getenv(variable)) own = std::stoi(text);
    }
    return own;
  }
};

template <class Call>
int break_it(const char* name, int count, MPI_Datatype type, void* out, const Call& call) {
  static Fault fault;
  if (!fault.is_due(name, count)) return call();
  const std::string& what = fault.words.at("do");
  if (what == "kill") std::raise(SIGKILL);
  if (what == "stop") std::raise(SIGSTOP);
  const int status = call();
  if (what == "fail") return MPI_ERR_OTHER;
  if (what == "late") {
    // A signal does not bring it back sooner.
    for (auto left = static_cast<unsigned>(std::stoi(fault.words.at("seconds"))); left > 0;) left = ::sleep(left);
  }
  if (what == "corrupt") {
    int width = 0;
    PMPI_Type_size(type, &width);
    // The highest bit of a float's exponent: also a zero becomes another number.
    static_cast<unsigned char*>(out)[(std::stoul(fault.words.at("index")) + 1) * static_cast<std::size_t>(width) - 1] ^= 0x40;
  }
  return status;
}

}  // namespace

extern "C" {

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  return break_it("MPI_Init_thread", 0, MPI_INT, nullptr, [&] { return PMPI_Init_thread(argc, argv, required, provided); });
}

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  return break_it("MPI_Allreduce", count, type, out, [&] { return PMPI_Allreduce(in, out, count, type, op, comm); });
}

int MPI_Sendrecv(const void* in, int in_count, MPI_Datatype in_type, int to, int in_tag, void* out, int out_count,
                 MPI_Datatype out_type, int from, int out_tag, MPI_Comm comm, MPI_Status* status) {
  return break_it("MPI_Sendrecv", out_count, out_type, out, [&] {
    return PMPI_Sendrecv(in, in_count, in_type, to, in_tag, out, out_count, out_type, from, out_tag, comm, status);
  });
}

}  // extern "C"
