// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "bench/families/access_atomic.hpp"
#include "bench/families/access_patterns.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "harness/model/units.hpp"
#include "kernels/base/check.hpp"

namespace roofmark::access {

namespace {

const AccessKernels* kernels_for(Backend backend) { return select(backend, &cuda::access, &cpu::access); }

/// Of the strided range: even where a launch fetches the least of it, that is more than four times the last-level cache.
std::size_t range_bytes(const DeviceInfo& device) {
  const Line line = line_of(device.backend);
  return std::bit_ceil(std::max(line.bytes / line.fetched * 4 * device.last_level_cache_bytes(), 256 * kMiB));
}

std::string why_unsupported(const DeviceInfo& device) {
  return kernels_for(device.backend) ? "" : "this build has no access patterns for the device";
}

Case blank_case(const CaseList& list, std::string operation, DataType type, Shape shape) {
  Case c;
  c.family = "access";
  c.operation = std::move(operation);
  c.type = type;
  c.shape = std::move(shape);
  c.protocol.cache = Cache::warm;
  c.unsupported = why_unsupported(list.listing().device);
  return c;
}

/// Of memory behind caches: a launch touches `touched` bytes and moves `moved` of them, or reads some several times.
Case cached_case(const Listing& listing, std::string operation, Shape shape, const SlotLayout& layout, Cache cache,
                 std::size_t touched, std::size_t moved) {
  const DeviceInfo& device = listing.device;
  Case c = memory_case(device, "access", std::move(operation), DataType::int32, std::move(shape), cache, layout,
                       LaunchBytes{touched, moved});
  c.unsupported = why_unsupported(device);
  return c;
}

std::size_t out_bytes(const SlotLayout& layout) { return layout.arrays().back().bytes(); }

Case stride_case(const Listing& listing, std::int64_t count, std::int64_t stride) {
  const Backend backend = listing.device.backend;
  const AccessKernels* kernels = kernels_for(backend);
  const Strided strided(count, stride, backend);
  const SlotLayout layout = strided.layout();
  Case c = cached_case(listing, "stride",
                       {{"bytes", std::to_string(strided.range_bytes())},
                        {"stride", std::to_string(static_cast<std::size_t>(stride) * kElementBytes)},
                        {"impl", "own"}},
                       layout, listing.cache.value_or(Cache::cold), strided.fetched_bytes(backend) + out_bytes(layout),
                       strided.elements() * kElementBytes + out_bytes(layout));
  c.prepare = [=](const Setup& setup) { return strided_sums(setup, *kernels, strided); };
  return c;
}

void add_stride(CaseList& list, std::int64_t count, std::int64_t stride) {
  list.add(stride_case(list.listing(), count, stride));
}

Case gather_case(const Listing& listing, const Gathered& gathered) {
  const AccessKernels* kernels = kernels_for(listing.device.backend);
  const SlotLayout layout = gathered.layout();
  const std::size_t bytes = layout.touched_bytes() + gathered.index_bytes();
  Case c = cached_case(listing, "gather",
                       {{"rows", std::to_string(gathered.rows)},
                        {"row_bytes", std::to_string(static_cast<std::size_t>(gathered.width) * kElementBytes)},
                        {"order", gathered.in_order ? "sequential" : "random"},
                        {"impl", "own"}},
                       layout, listing.cache.value_or(Cache::cold), bytes, bytes);
  const bool gpu = listing.device.backend == Backend::cuda;
  c.shared_bytes =
      aligned(gathered.index_bytes()) + (gpu ? 0 : layout.arrays().front().bytes());  // a CPU's check copies the table
  c.prepare = [=](const Setup& setup) { return gathered_rows(setup, *kernels, gathered); };
  return c;
}

void add_gather(CaseList& list, std::int64_t rows, std::int64_t width) {
  Group group;
  for (const bool in_order : {true, false}) group.cases.push_back(gather_case(list.listing(), {rows, width, in_order}));
  group.comparisons.push_back(compare(group.cases[0], group.cases[1]));
  list.add(std::move(group));
}

Case read_case(const Listing& listing, const ReadArray& array, Cache cache) {
  const DeviceInfo& device = listing.device;
  const AccessKernels* kernels = kernels_for(device.backend);
  const SlotLayout layout = array.layout();
  const std::size_t bytes = static_cast<std::size_t>(array.count) * kElementBytes;
  const bool bulk = array.by == ReadBy::cp_async_bulk;
  Case c =
      cached_case(listing, "read", {{"bytes", std::to_string(bytes)}, {"impl", bulk ? "cp_async_bulk" : "ld_global"}}, layout,
                  cache, layout.touched_bytes(), bytes * static_cast<std::size_t>(array.passes) + out_bytes(layout));
  if (bulk && device.compute_capability < 90) c.unsupported = "bulk copies need compute capability 9.0";
  if (kernels && !kernels->read) c.unsupported = "no reads by bulk copies on the device";
  c.prepare = [=](const Setup& setup) { return read_array(setup, *kernels, array); };
  return c;
}

void add_read(CaseList& list, std::size_t bytes, std::int64_t passes, Cache cache) {
  Group group;
  for (const ReadBy by : {ReadBy::cp_async_bulk, ReadBy::ld_global}) {
    group.cases.push_back(read_case(list.listing(), {by, static_cast<std::int64_t>(bytes / kElementBytes), passes}, cache));
  }
  group.comparisons.push_back(compare(group.cases[0], group.cases[1]));
  list.add(std::move(group));
}

/// How many passes over `bytes_per_pass` take `seconds` at 128 bytes per clock and SM.
unsigned passes_of(const Listing& listing, double seconds, double bytes_per_pass) {
  constexpr double bytes_per_clock = 128;
  if (listing.short_probes) return 11;
  return static_cast<unsigned>(seconds * listing.device.highest_clock_hz.value_or(1.5e9) * bytes_per_clock / bytes_per_pass);
}

void add_bank_conflicts(CaseList& list, const std::vector<unsigned>& all_ways) {
  constexpr double bytes_per_pass = kBankThreads * kBankLoads * sizeof(std::uint32_t), seconds = 0.25e-3;
  const Listing& listing = list.listing();
  const AccessKernels* kernels = kernels_for(listing.device.backend);
  const int processors = std::max(listing.device.multiprocessors, 1);
  const unsigned passes = passes_of(listing, seconds, bytes_per_pass);
  Group group;
  for (const unsigned ways : all_ways) {
    Case c = blank_case(list, "bank_conflicts", DataType::int32, {{"ways", std::to_string(ways)}, {"impl", "own"}});
    const std::size_t count = static_cast<std::size_t>(processors) * kBankThreads;
    c.work = {{{{resource::shared, bytes_per_pass * passes * processors}}}};
    c.slot_bytes = one_output(c.type, count).slot_bytes();
    c.prepare = [=](const Setup& setup) {
      return known_output(setup, {.count = count,
                                  .launch =
                                      [=](void* out, Stream stream) {
                                        kernels->bank_conflicts(static_cast<std::uint32_t*>(out), ways, passes, processors,
                                                                stream);
                                      },
                                  .expected =
                                      [=](std::size_t i) {
                                        std::uint32_t sum = 0;
                                        for (unsigned load = 0; load < kBankLoads; ++load) {
                                          sum += bank_word(bank_word_of(static_cast<unsigned>(i % kBankThreads), load, ways));
                                        }
                                        return passes * sum;
                                      },
                                  .notes = {{"times read", std::to_string(passes)}}});
    };
    group.cases.push_back(std::move(c));
  }
  for (std::size_t i = 1; i < group.cases.size(); ++i) group.comparisons.push_back(compare(group.cases[0], group.cases[i]));
  list.add(std::move(group));
}

void add_atomic(CaseList& list, bool global, DataType type, AddressPer per) {
  list.add(atomic_case(list.listing(), global, type, per));
}

/// Element i of the sinks of the blocks, two elements to a word: `passes` over all blocks.
std::uint32_t dsmem_sink(std::size_t i, int cluster, int blocks, unsigned passes) {
  const std::size_t thread = i / 2 % kDsmemThreads, block = i / 2 / kDsmemThreads;
  const std::size_t first = block / static_cast<std::size_t>(cluster) * static_cast<std::size_t>(cluster);
  const std::uint64_t neighbour = first + (block + 1) % static_cast<std::size_t>(cluster);
  const unsigned own = passes / static_cast<unsigned>(blocks) + (block < passes % static_cast<unsigned>(blocks) ? 1 : 0);
  std::uint64_t sum = 0;
  for (std::size_t load = 0; load < kDsmemLoads; ++load) {
    const std::uint64_t word = 2 * (load * kDsmemThreads + thread);
    sum += 2 * (neighbour << 32) + 2 * word + 1;
  }
  return static_cast<std::uint32_t>(own * sum >> 32 * (i % 2));
}

void add_dsmem(CaseList& list, const std::vector<int>& clusters) {
  constexpr double seconds = 0.1e-3;  // at the rate of an SM's own shared memory: a neighbour's has a tenth of it
  const Listing& listing = list.listing();
  const AccessKernels* kernels = kernels_for(listing.device.backend);
  const int processors = std::max(listing.device.multiprocessors, 1);
  const unsigned passes = passes_of(listing, seconds, kDsmemSetBytes) * static_cast<unsigned>(processors) + 1;
  Group group;
  for (const int cluster : clusters) {
    Case c = blank_case(list, "dsmem", DataType::int32, {{"cluster", std::to_string(cluster)}, {"impl", "own"}});
    c.work = {{{{resource::shared, static_cast<double>(kDsmemSetBytes) * passes}}}};
    c.slot_bytes = one_output(c.type, 2 * static_cast<std::size_t>(processors) * kDsmemThreads).slot_bytes();
    if (listing.device.compute_capability < 90) c.unsupported = "clusters need compute capability 9.0";
    c.prepare = [=](const Setup& setup) {
      const int blocks = kernels->dsmem_blocks(cluster);
      if (blocks == 0) throw Unsupported(fmt::format("no cluster of {} blocks fits at one block per SM", cluster));
      return known_output(setup, {.count = 2 * static_cast<std::size_t>(blocks) * kDsmemThreads,
                                  .launch =
                                      [=](void* out, Stream stream) {
                                        kernels->dsmem(static_cast<std::uint64_t*>(out), cluster, blocks, passes, stream);
                                      },
                                  .expected = [=](std::size_t i) { return dsmem_sink(i, cluster, blocks, passes); },
                                  .notes = {{"SMs that hold a block", std::to_string(blocks)}}});
    };
    group.cases.push_back(std::move(c));
  }
  for (std::size_t i = 1; i < group.cases.size(); ++i) group.comparisons.push_back(compare(group.cases[0], group.cases[i]));
  list.add(std::move(group));
}

void list_contract(CaseList& list) {
  for (const std::int64_t stride : {1, 3, 64}) {
    for (const std::int64_t count : {1, 31, 1009, 1024, 20011}) add_stride(list, count, stride);
  }
  for (const auto& [rows, width] : {std::pair{1, 4}, {3, 8}, {67, 4}, {1009, 12}, {37, 1024}}) add_gather(list, rows, width);
  if (!list.on_gpu()) return;
  for (const std::size_t bytes : {16, 4080, 4112, 16384, 100000}) {
    add_read(list, bytes, 1, Cache::warm);
    add_read(list, bytes + 16, 3, Cache::warm);  // the name has the size alone
  }
  add_bank_conflicts(list, {1, 4, 32});
  for (const DataType type : {DataType::int32, DataType::fp32}) {
    for (const AddressPer per : {AddressPer::grid, AddressPer::block, AddressPer::warp, AddressPer::thread}) {
      add_atomic(list, true, type, per);
      if (per != AddressPer::grid) add_atomic(list, false, type, per);
    }
  }
  add_dsmem(list, {2, 4, 8});
}

bool is_full(const CaseList& list) { return list.listing().suite == SuiteName::full; }

/// On any device.
void list_memory(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const std::size_t range = range_bytes(device);
  for (std::size_t stride = kElementBytes; stride <= 4096; stride *= 2) {
    if (!is_full(list) && stride != 4 && stride != 32 && stride != 128 && stride != 4096) continue;
    add_stride(list, static_cast<std::int64_t>(range / stride), static_cast<std::int64_t>(stride / kElementBytes));
  }
  // A host makes a random order of some millions of rows in a second. On a CPU, the table and the rows written make up the
  // range.
  constexpr std::size_t kMostRows = std::size_t{1} << 23;
  const std::size_t table = list.on_gpu() ? range : range / 2;
  for (std::size_t row = 32; row <= 4096; row *= 2) {
    if (!is_full(list) && row != 32 && row != 512) continue;
    add_gather(list, static_cast<std::int64_t>(std::min(table / row, kMostRows)),
               static_cast<std::int64_t>(row / kElementBytes));
  }
}

/// From L2, as often as a launch of a fraction of a millisecond takes, though not so often that the sums take more than a
/// quarter of the array's room.
std::int64_t passes_of_l2(std::size_t bytes) {
  constexpr std::size_t kMoved = 2'000'000'000, kMostPasses = 256;
  return static_cast<std::int64_t>(std::clamp<std::size_t>(kMoved / bytes, 1, kMostPasses));
}
void add_read_of_l2(CaseList& list, std::size_t bytes) {
  if (bytes > 0) add_read(list, bytes, passes_of_l2(bytes), Cache::warm);
}

void list_gpu(CaseList& list) {
  const DeviceInfo& device = list.listing().device;
  const bool full = is_full(list);
  list_memory(list);
  add_read(list, range_bytes(device), 1, Cache::cold);
  const std::size_t quarter_of_l2 = device.last_level_cache_bytes() / 4 / kMiB * kMiB;
  add_read_of_l2(list, quarter_of_l2);
  if (full) add_read_of_l2(list, quarter_of_l2 / 2);
  add_bank_conflicts(list, full ? std::vector<unsigned>{1, 2, 4, 8, 16, 32} : std::vector<unsigned>{1, 2, 32});
  for (const DataType type : {DataType::int32, DataType::fp32}) {
    for (const AddressPer per : {AddressPer::grid, AddressPer::block, AddressPer::warp, AddressPer::thread}) {
      if (!full && (per == AddressPer::block || per == AddressPer::warp)) continue;
      add_atomic(list, true, type, per);
      if (full && per != AddressPer::grid) add_atomic(list, false, type, per);
    }
  }
  add_dsmem(list, full ? std::vector<int>{2, 4, 8} : std::vector<int>{2, 4});
}

void list_suite(CaseList& list) {
  if (list.listing().suite != SuiteName::quick) (list.on_gpu() ? list_gpu : list_memory)(list);
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  const auto whole = [](std::size_t bytes, std::size_t unit, const char* what) {
    if (bytes % unit != 0) throw std::invalid_argument(fmt::format("{} is a multiple of {}", what, unit));
    return static_cast<std::int64_t>(bytes / kElementBytes);
  };
  constexpr std::size_t kVector = 4 * kElementBytes;
  constexpr std::int64_t kMostStride = std::int64_t{1} << 22;  // sweeps are blocks of a grid's second dimension
  if (asked.operation() == "stride") {
    const std::int64_t stride =
        whole(static_cast<std::size_t>(asked.number("stride", 4, kMostStride)), kElementBytes, "stride");
    const std::int64_t count = whole(asked.amount("bytes"), kElementBytes, "bytes") / stride;
    if (count < 1) throw std::invalid_argument("bytes is a stride at least");
    return stride_case(listing, count, stride);
  }
  if (asked.operation() == "gather") {
    constexpr double kMostElements = 0x1p31;  // the check copies the table to the host
    const Gathered gathered = {asked.number("rows"), whole(asked.amount("row_bytes"), kVector, "row_bytes"),
                               !asked.is_or("order", "random", "random")};
    if (static_cast<double>(gathered.rows) * static_cast<double>(gathered.width) >= kMostElements) {
      throw std::invalid_argument("a table has fewer than 2^31 elements");
    }
    return gather_case(listing, gathered);
  }
  if (asked.operation() != "read") return std::nullopt;
  const std::size_t bytes = asked.amount("bytes");
  const Cache cache = listing.cache.value_or(Cache::cold);
  if (listing.device.backend == Backend::cpu) throw std::invalid_argument("only GPUs have it");
  const ReadBy by = asked.is_or("impl", "ld_global", "cp_async_bulk") ? ReadBy::ld_global : ReadBy::cp_async_bulk;
  return read_case(listing, {by, whole(bytes, kVector, "bytes"), cache == Cache::warm ? passes_of_l2(bytes) : 1}, cache);
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_suite, list_suite); }

}  // namespace roofmark::access
