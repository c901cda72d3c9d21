// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/memory_test.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/families/stream.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/slots.hpp"
#include "harness/model/traffic.hpp"
#include "harness/model/units.hpp"

namespace roofmark::memory_test {

namespace {

constexpr std::size_t kWords = 0, kWrong = 1;
constexpr std::size_t kWordBytes = sizeof(std::uint32_t);
static_assert(sizeof(WrongWords) % kWordBytes == 0);

/// The tested words, and what the launches found wrong in them.
SlotLayout layout_of(std::size_t words) {
  return SlotLayout(
      {SlotArray::output(DataType::int32, words), SlotArray::scratch(DataType::int32, sizeof(WrongWords) / kWordBytes)});
}

/// Each word that a pass of a launch found wrong is counted, and the count is never reset: it is all that a launch gives.
class PreparedMemoryTest final : public Prepared {
 public:
  PreparedMemoryTest(const Setup& setup, const MemoryTestKernels& kernels, MemoryPattern pattern, std::size_t words)
      : device_(setup.device),
        kernels_(kernels),
        pattern_(pattern),
        words_(words),
        slots_(setup, layout_of(words)),
        found_now_(device_.allocate(sizeof(WrongWords))) {
    for (int slot = 0; slot < setup.slots; ++slot) device_.zero(slots_.at(slot, kWrong), sizeof(WrongWords));
  }

  void launch(Stream stream, int slot) override {
    for (const MemoryPass pass : kMemoryPasses) run(pass, slot, slots_.at<WrongWords>(slot, kWrong), stream);
  }

  Verification verify(int slot) override {
    auto* const now = static_cast<WrongWords*>(found_now_.get());
    device_.zero(now, sizeof(WrongWords));
    run(MemoryPass::check, slot, now, device_.stream());
    const WrongWords in_launches = read(slots_.at<WrongWords>(slot, kWrong)), in_memory = read(now);
    const std::uint64_t wrong = in_launches.count + in_memory.count, bits = in_launches.bits | in_memory.bits;
    const std::uint64_t first = std::max(in_launches.first, in_memory.first);
    if ((wrong | bits | first) == 0) return Verification::within(0, 0, "wrong words, in all passes of all launches and now");
    Verification failed = Verification::within(
        static_cast<double>(std::max(wrong, std::uint64_t{1})), 0,
        fmt::format("wrong words, of {} words in the passes of all launches; the lowest at byte {:#x} of the array, bits that "
                    "differed in any: {:#010x}",
                    words_, ~first * kWordBytes, bits));
    failed.wrong = wrong;
    return failed;
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kWrong)}; }
  bool outputs_are_all() const override { return false; }  // the words are checked too

  std::vector<std::pair<std::string, std::string>> notes() const override {
    const auto all = static_cast<double>(device_.info().memory_bytes);
    return {{"passes", "write, compare and invert, compare and restore, compare"},
            {"bytes counted", "each word read three times and written three times"},
            {"share of the device's memory", format_share(static_cast<double>(words_ * kWordBytes) / all)}};
  }

 private:
  void run(MemoryPass pass, int slot, WrongWords* wrong, Stream stream) {
    kernels_.pass(pattern_, pass, slots_.at<std::uint32_t>(slot, kWords), words_, wrong, stream);
  }
  WrongWords read(const WrongWords* found) {
    WrongWords host;
    device_.to_host(&host, found, sizeof(host));
    return host;
  }

  Device& device_;
  const MemoryTestKernels& kernels_;
  MemoryPattern pattern_;
  std::size_t words_;
  Slots slots_;
  Memory found_now_;
};

void add(CaseList& list, MemoryPattern pattern, std::size_t bytes) {
  list.add(memory_test_case(list.listing().device, pattern, bytes));
}

void list_suite(CaseList& list) {
  if (list.listing().suite == SuiteName::quick) return;
  if (!list.on_gpu() && list.listing().suite != SuiteName::full) return;
  for (const MemoryPattern pattern : kMemoryPatterns) add(list, pattern, stream::nearly_all_memory(list.listing()));
}

void list_contract(CaseList& list) {
  for (const MemoryPattern pattern : kMemoryPatterns) {
    for (const std::size_t words : {1, 7, 1009, 100003}) add(list, pattern, words * kWordBytes);
  }
}

}  // namespace

Case memory_test_case(const DeviceInfo& device, MemoryPattern pattern, std::size_t bytes) {
  const MemoryTestKernels* kernels = select(device.backend, &cuda::memory_test, &cpu::memory_test);
  const std::size_t words = bytes / kWordBytes;
  Case c =
      memory_case(device, "memory_test", "", DataType::int32,
                  {{"bytes", std::to_string(words * kWordBytes)}, {"pattern", std::string(name(pattern))}, {"impl", "own"}},
                  Cache::warm, layout_of(words));
  c.touched_bytes = words * kWordBytes;
  // One pass after another: each reads the memory, writes it, or both.
  c.work.phases.clear();
  const auto all = static_cast<double>(c.touched_bytes);
  for (const MemoryPass pass : kMemoryPasses) {
    const bool updates = reads(pass) && writes(pass);
    c.work.phases.push_back(memory_demands(device, all, updates ? 2 * all : all, Cache::warm, updates ? all : 0));
  }
  c.shared_bytes = aligned(sizeof(WrongWords));
  if (!kernels) {
    c.unsupported = "this build has no memory test for the device";
    return c;
  }
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedMemoryTest>(setup, *kernels, pattern, words);
  };
  return c;
}

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  if (asked.type() != DataType::int32) throw std::invalid_argument("its words are int32");
  const std::size_t bytes = asked.amount("bytes");
  if (bytes < kWordBytes) throw std::invalid_argument("a word has 4 bytes");
  return memory_test_case(listing.device, asked.one_of("pattern", kMemoryPatterns, MemoryPattern::random), bytes);
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark::memory_test
