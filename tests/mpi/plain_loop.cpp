// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0

// The plainest loop that times an MPI collective, as the OSU micro-benchmarks define it, with their flags and their table: what
// the program's own loop is compared with. Every iteration is timed alone on every rank, and followed by a barrier that is not.
#include <mpi.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace {

// Their size is of one rank's part, in bytes.
using Run = std::function<void(const float* in, float* out, int count)>;

std::map<std::string, Run> operations(int rank, int size) {
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  return {
      {"all_reduce", [](const float* in, float* out, int n) { MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }},
      {"all_gather",
       [](const float* in, float* out, int n) { MPI_Allgather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD); }},
      {"reduce_scatter",
       [](const float* in, float* out, int n) { MPI_Reduce_scatter_block(in, out, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD); }},
      {"broadcast", [](const float*, float* out, int n) { MPI_Bcast(out, n, MPI_FLOAT, 0, MPI_COMM_WORLD); }},
      {"reduce", [](const float* in, float* out, int n) { MPI_Reduce(in, out, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD); }},
      {"all_to_all",
       [](const float* in, float* out, int n) { MPI_Alltoall(in, n, MPI_FLOAT, out, n, MPI_FLOAT, MPI_COMM_WORLD); }},
      {"gather",
       [](const float* in, float* out, int n) { MPI_Gather(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, MPI_COMM_WORLD); }},
      {"scatter",
       [](const float* in, float* out, int n) { MPI_Scatter(in, n, MPI_FLOAT, out, n, MPI_FLOAT, 0, MPI_COMM_WORLD); }},
      {"send_recv",
       [=](const float* in, float* out, int n) {
         MPI_Sendrecv(in, n, MPI_FLOAT, next, 0, out, n, MPI_FLOAT, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
       }},
  };
}

struct Options {
  std::string operation;
  std::size_t least = 8, most = std::size_t{1} << 20;
  int iterations = 0, warm_up = 0;  // 0: 1000 and 100 up to 8 KiB, 100 and 10 above
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "-f") continue;  // their flag for all columns, which this always prints
    if (word.size() == 2 && word[0] == '-') {
      if (++i == argc) return false;
      char* end = nullptr;
      const unsigned long long value = std::strtoull(argv[i], &end, 10);
      if (word == "-m" && *end == ':') {
        options.least = value;
        options.most = std::strtoull(end + 1, &end, 10);
      } else if (word == "-i") {
        options.iterations = static_cast<int>(value);
      } else if (word == "-x") {
        options.warm_up = static_cast<int>(value);
      } else {
        return false;
      }
      if (*end != '\0') return false;
    } else {
      options.operation = word;
    }
  }
  return options.least >= sizeof(float) && options.least <= options.most;
}

/// Of huge pages where the system gives them on request, as the CPU device's memory is.
class Array {
 public:
  Array(std::size_t count, float value) {
    const std::size_t bytes = count * sizeof(float), page = bytes >= kHugePage / 2 ? kHugePage : kPage;
    const std::size_t length = (bytes + page - 1) / page * page;
    data_.reset(static_cast<float*>(std::aligned_alloc(page, length)));
    if (!data_) throw std::bad_alloc();
    if (page == kHugePage) madvise(data_.get(), length, MADV_HUGEPAGE);
    std::fill_n(data_.get(), count, value);
  }
  float* get() const { return data_.get(); }

 private:
  static constexpr std::size_t kPage = 4096, kHugePage = std::size_t{2} << 20;
  struct Free {
    void operator()(float* data) const { std::free(data); }
  };
  std::unique_ptr<float, Free> data_;
};

void measure(const Run& run, std::size_t bytes, const Options& options, int rank, int size) {
  const bool small = bytes <= 8192;
  const int iterations = options.iterations > 0 ? options.iterations : small ? 1000 : 100;
  const int warm_up = options.warm_up > 0 ? options.warm_up : small ? 100 : 10;
  const std::size_t count = bytes / sizeof(float), total = count * static_cast<std::size_t>(size);
  const Array in(total, 1), out(total, 0);
  double sum = 0;
  std::vector<double> slowest;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = -warm_up; i < iterations; ++i) {
    const double begin = MPI_Wtime();
    run(in.get(), out.get(), static_cast<int>(count));
    const double end = MPI_Wtime();
    if (i >= 0) {
      sum += end - begin;
      slowest.push_back(end - begin);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double mean = sum / iterations;
  double average = 0, least = 0, most = 0;
  MPI_Reduce(&mean, &average, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mean, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mean, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  // Beyond theirs: the median over the iterations of the slowest rank's time.
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : slowest.data(), slowest.data(), iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  std::sort(slowest.begin(), slowest.end());
  std::printf("%-12zu %18.3f %18.3f %18.3f %12d %18.3f\n", bytes, average / size * 1e6, least * 1e6, most * 1e6, iterations,
              slowest[slowest.size() / 2] * 1e6);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Options options;
  const auto known = operations(rank, size);
  const bool good = parse(argc, argv, options);
  const auto found = known.find(options.operation);
  if (!good || found == known.end()) {
    if (rank == 0) std::fprintf(stderr, "usage: mpi_plain_loop [-m LEAST:MOST] [-i ITERATIONS] [-x WARM_UP] [-f] COLLECTIVE\n");
    MPI_Finalize();
    return 2;
  }
  if (rank == 0) {
    std::printf("# %s, %d ranks, fp32\n", options.operation.c_str(), size);
    std::printf("%-12s %18s %18s %18s %12s %18s\n", "# Size", "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)",
                "Iterations", "P50 slowest(us)");
  }
  for (std::size_t bytes = options.least; bytes <= options.most; bytes *= 2) measure(found->second, bytes, options, rank, size);
  MPI_Finalize();
  return 0;
}
