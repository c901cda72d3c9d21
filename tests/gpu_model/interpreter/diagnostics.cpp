// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// Texts of faults and warnings.
#include "diagnostics.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace gpu_model {
namespace {

std::string triple(unsigned x, unsigned y, unsigned z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z) + ")";
}
std::string triple(const Dim3& d) { return triple(d.x, d.y, d.z); }

/// " (file:line)" of the source that the compiler made an instruction of; empty where the PTX has no line information.
std::string source_line(const Body& body, const Instruction& i) {
  if (i.loc == 0 || i.loc >= body.locs.size()) return "";
  const Loc& loc = body.locs[i.loc];
  const auto file = body.module->files.find(loc.file);
  const std::string name = file == body.module->files.end() ? "file " + std::to_string(loc.file) : file->second;
  return " (" + name + ":" + std::to_string(loc.line) + ")";
}

std::string place(const Warp& w, const Instruction& i, int lane) {
  const Dim3& size = w.launch->block;
  std::string text = readable_name(w.body->info.name) + ", block " + triple(w.block->ctaid);
  if (lane >= 0) {
    const u32 thread = w.id * 32 + static_cast<u32>(lane);
    text += ", thread " + triple(thread % size.x, thread / size.x % size.y, thread / size.x / size.y);
  } else {
    text += ", warp " + std::to_string(w.id);
  }
  return text + ", PTX line " + std::to_string(i.line) + source_line(*w.body, i);
}

const char* name_of(Fault::Kind kind) {
  switch (kind) {
    case Fault::Kind::illegal_address:
      return "illegal address";
    case Fault::Kind::misaligned:
      return "misaligned address";
    case Fault::Kind::illegal_instruction:
      return "illegal instruction";
    case Fault::Kind::deadlock:
      return "deadlock";
    case Fault::Kind::trap:
      return "trap";
    case Fault::Kind::race:
      return "race";
    case Fault::Kind::unsupported:
      return "unsupported";
  }
  return "fault";
}

std::string describe(const Warp& w, const LaneGroup& group) {
  constexpr const char* states[] = {"run", "wait for other lanes", "wait at a barrier", "poll"};
  char mask[16];
  std::snprintf(mask, sizeof mask, "%08x", group.mask);
  const Instruction& i = w.body->code[group.pc];
  return std::string(" lanes ") + mask + " " + states[group.state] + " at PTX line " + std::to_string(i.line) +
         source_line(*w.body, i) + ";";
}

}  // namespace

std::string readable_name(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> demangled(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                              &std::free);
  constexpr std::size_t longest = 200;
  return std::string(status == 0 && demangled ? demangled.get() : mangled).substr(0, longest);
}

void fault(Fault::Kind kind, const Warp& w, const Instruction& i, int lane, const std::string& text) {
  throw Fault(kind, std::string(name_of(kind)) + ": " + text + "; " + place(w, i, lane));
}

void fault_misaligned(const Warp& w, const Instruction& i, int lane, u64 address, u32 alignment) {
  char text[96];
  std::snprintf(text, sizeof text, "address 0x%llx is no multiple of %u", static_cast<unsigned long long>(address), alignment);
  fault(Fault::Kind::misaligned, w, i, lane, text);
}

void fault_deadlock(const Cluster& cluster) {
  constexpr int most_shown = 12;
  std::string text = "no warp of the cluster can go on:";
  const Warp* first = nullptr;
  int shown = 0;
  for (const auto& w : cluster.warps) {
    if (!w->live) continue;
    if (!first) first = w.get();
    if (++shown > most_shown) {
      text += " ...";
      break;
    }
    text += "\n  block " + triple(w->block->ctaid) + " warp " + std::to_string(w->id) + ":";
    for (const LaneGroup& group : w->groups) text += describe(*w, group);
    text += std::string(" last waited for: ") + w->waits_for;
  }
  fault(Fault::Kind::deadlock, *first, *first->at, -1, text + "\n");
}

void warn_once(Warp& w, const Instruction& i, const std::string& text) {
  constexpr std::size_t kind_length = 24;  // texts of one kind begin alike, before the address
  constexpr std::size_t most_warnings = 200;
  Launch& launch = *w.launch;
  const auto told = [&](const auto& before) {
    return before.first == i.line && before.second.compare(0, kind_length, text, 0, kind_length) == 0;
  };
  if (launch.warned.size() > most_warnings || std::any_of(launch.warned.begin(), launch.warned.end(), told)) return;
  launch.warned.emplace_back(i.line, text);
  ++launch.counters->warnings;
  if (!launch.quiet) std::fprintf(stderr, "gpumodel: warning: %s; %s\n", text.c_str(), place(w, i, -1).c_str());
}

}  // namespace gpu_model
