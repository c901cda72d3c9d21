// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/model_shapes.hpp"
#include "bench/support/operation_counts.hpp"
#include "bench/support/reference_check.hpp"
#include "bench/support/slots.hpp"
#include "harness/device/random.hpp"
#include "kernels/reductions_reference.hpp"
#include "kernels/stream.hpp"

namespace roofmark::reductions {
namespace {

/// residual_rms_norm in one kernel, or as the stream's add followed by rms_norm.
enum class By { fused, separate };

struct Problem {
  ReductionOp op;
  DataType type;
  std::int64_t rows, columns;
  By by = By::fused;

  std::size_t elements() const { return static_cast<std::size_t>(rows * columns); }
};

constexpr std::size_t kX = 0, kResidual = 1, kWeight = 2, kBias = 3, kTarget = 4, kOut = 5, kSum = 6, kScale = 7;

SlotLayout layout_of(const Problem& p) {
  const auto rows = static_cast<std::size_t>(p.rows), columns = static_cast<std::size_t>(p.columns);
  const std::size_t residual = p.op == ReductionOp::residual_rms_norm ? p.elements() : 0;
  return SlotLayout({SlotArray::input(p.type, p.elements(), kX), SlotArray::input(p.type, residual, kResidual),
                     SlotArray::input(p.type, has_weight(p.op) ? columns : 0, kWeight),
                     SlotArray::input(p.type, p.op == ReductionOp::layer_norm ? columns : 0, kBias),
                     SlotArray::scratch(DataType::int32, p.op == ReductionOp::cross_entropy ? rows : 0),
                     SlotArray::output(output_type(p.op, p.type), gives_one_number(p.op) ? rows : p.elements()),
                     SlotArray::output(p.type, residual),
                     SlotArray::output(DataType::fp32, p.op == ReductionOp::quantise ? rows : 0)});
}

/// In units of u(type) x the scale of reductions_reference.hpp. 16-bit types: 1 for the rounding of the result, and the loss in
/// fp32 before it. The sum and the scale beside `out` lose one roundoff of fp32 each. A sum over a row loses:
///   of positive terms   a chain of L similar terms has independent roundings, uniform within u x the partial sum: a standard
///                       deviation of sqrt(L) / 3 of the sum; eight of them, and 1 for each of at most 16 levels of merging
///   of signed terms     as the stream's sums: eight times sqrt(L / 6)
double bound(ReductionOp op, ReductionOutput which, DataType type) {
  const double sum =
      op == ReductionOp::row_sum ? 8 * std::sqrt(kReductionChunk / 6.0) : 8 * std::sqrt(kReductionChunk) / 3 + 16;
  const auto [sums, roundoffs] = operation(op).loss_in_fp32;
  const double in_fp32 = which == ReductionOutput::out ? sums * sum + roundoffs : 1;
  if (type == DataType::fp32) return in_fp32;
  return 1 + in_fp32 * unit_roundoff(DataType::fp32) / unit_roundoff(type);
}

class PreparedReduction final : public Prepared {
 public:
  PreparedReduction(const Setup& setup, const Problem& problem, const ReductionKernels& kernels, const StreamKernels* stream)
      : device_(setup.device), problem_(problem), kernels_(kernels), stream_(stream), slots_(setup, layout_of(problem)) {
    if (problem.op != ReductionOp::cross_entropy) return;
    for (int slot = 0; slot < setup.slots; ++slot) fill_targets(slots_.at<std::int32_t>(slot, kTarget), setup.seed);
  }

  void launch(Stream stream, int slot) override {
    const ReductionArrays a = arrays(slot);
    if (problem_.by == By::fused) {
      kernels_.launch(problem_.op, problem_.type, a, problem_.rows, problem_.columns, stream);
      return;
    }
    stream_->launch(StreamOp::add, problem_.type, a.sum, a.residual, a.x, problem_.elements(), 1, nullptr, stream);
    ReductionArrays norm;
    norm.x = a.sum;
    norm.weight = a.weight;
    norm.out = a.out;
    kernels_.launch(ReductionOp::rms_norm, problem_.type, norm, problem_.rows, problem_.columns, stream);
  }

  Verification verify(int slot) override { return check_outputs(device_, written_by(slot)); }

  std::vector<Output> outputs(int slot) override { return outputs_of(written_by(slot)); }
  bool is_deterministic() const override { return true; }  // a row's sums have a fixed order

 private:
  ReductionArrays arrays(int slot) const {
    ReductionArrays all;
    all.x = slots_.at(slot, kX);
    all.residual = slots_.at(slot, kResidual);
    all.weight = slots_.at(slot, kWeight);
    all.bias = slots_.at(slot, kBias);
    all.target = slots_.at<std::int32_t>(slot, kTarget);
    all.out = slots_.at(slot, kOut);
    all.sum = slots_.at(slot, kSum);
    all.scale = slots_.at<float>(slot, kScale);
    return all;
  }

  std::vector<CheckedOutput> written_by(int slot) {
    const ReductionArrays a = arrays(slot);
    const auto checked = [&](std::string_view name, ReductionOutput which, std::size_t array) -> CheckedOutput {
      const std::int64_t width = reduction_output_columns(problem_.op, which, problem_.columns);
      const auto reference = [=, this](std::int64_t first, std::int64_t count, double* expected, double* scale) {
        kernels_.reference(problem_.op, problem_.type, a, which, first, count, problem_.columns, expected, scale,
                           device_.stream());
      };
      const Output output = slots_.output(slot, array);
      return {name, output, width, bound(problem_.op, which, output.type), reference};
    };
    std::vector<CheckedOutput> all = {checked("out", ReductionOutput::out, kOut)};
    if (a.sum) all.push_back(checked("sum", ReductionOutput::sum, kSum));
    if (a.scale) all.push_back(checked("scale", ReductionOutput::scale, kScale));
    return all;
  }

  void fill_targets(std::int32_t* to, std::uint64_t seed) {
    std::vector<std::int32_t> targets(static_cast<std::size_t>(problem_.rows));
    for (std::size_t r = 0; r < targets.size(); ++r) {
      targets[r] = static_cast<std::int32_t>(random_bits(seed, kTarget, r) % static_cast<std::uint64_t>(problem_.columns));
    }
    device_.to_device(to, targets.data(), targets.size() * sizeof(targets[0]));
  }

  Device& device_;
  Problem problem_;
  const ReductionKernels& kernels_;
  const StreamKernels* stream_;
  Slots slots_;
};

Case reduction_case(const Listing& listing, const Problem& problem) {
  const DeviceInfo& device = listing.device;
  const ReductionKernels* kernels = select(device.backend, &cuda::reductions, &cpu::reductions);
  const StreamKernels* stream = select(device.backend, &cuda::stream, &cpu::stream);
  Shape shape = {{"rows", std::to_string(problem.rows)}, {"columns", std::to_string(problem.columns)}, {"impl", "own"}};
  if (problem.op == ReductionOp::residual_rms_norm) {
    shape.emplace_back("algo", problem.by == By::fused ? "fused" : "separate");
  }
  Case c = memory_case(device, "reductions", std::string(name(problem.op)), problem.type, std::move(shape),
                       listing.cache.value_or(Cache::cold), layout_of(problem));
  add_demands(c.work.phases.front(), operation(problem.op).counts, static_cast<double>(problem.elements()), device.backend);
  if (!kernels) {
    c.unsupported = "this build has no reductions for the device";
  } else if (!kernels->supports(problem.op, problem.type)) {
    c.unsupported = fmt::format("no reductions of {} on this device", name(problem.type));
  } else if (problem.by == By::separate && (!stream || !stream->supports(problem.type))) {
    c.unsupported = fmt::format("no addition of {} on this device", name(problem.type));
  }
  if (!c.unsupported.empty()) return c;
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedReduction>(setup, problem, *kernels, stream);
  };
  return c;
}

void add(CaseList& list, ReductionOp op, DataType type, std::int64_t rows, std::int64_t columns) {
  Group group = {{reduction_case(list.listing(), {op, type, rows, columns})}, {}};
  if (op == ReductionOp::residual_rms_norm) {
    group.cases.push_back(reduction_case(list.listing(), {op, type, rows, columns, By::separate}));
    group.comparisons = {compare(group.cases[0], group.cases[1])};
  }
  list.add(std::move(group));
}
void add_all(CaseList& list, DataType type, std::int64_t rows, std::int64_t columns) {
  for (const ReductionOp op : kReductionOps) add(list, op, type, rows, columns);
}

constexpr DataType kTypes[] = {DataType::bf16, DataType::fp16, DataType::fp32};

// Rows for a warp, a block and clusters of 2, 4 and 8, with complete and incomplete packets. Then the costly ones, one row per
// operation: rows that give each thread of a cluster twice as much, and rows too long for any cluster.
void list_contract(CaseList& list) {
  struct Shape {
    std::int64_t rows, columns;
  };
  std::vector<Shape> shapes = {{1, 1}, {3, 7}, {67, 129}, {9, 1000}, {5, 1032}, {2, 4097}};
  const bool gpu = list.on_gpu();
  if (gpu) {
    const Shape more[] = {{2, 8200}, {2, 16392}, {1, 33001}, {1, 65544}};
    shapes.insert(shapes.end(), std::begin(more), std::end(more));
  }
  for (const DataType type : kTypes) {
    for (const auto& [rows, columns] : shapes) add_all(list, type, rows, columns);
  }
  if (!gpu) return;
  std::size_t turn = 0;
  for (const std::int64_t columns : {131080, 131073, 262152}) {
    for (const ReductionOp op : kReductionOps) add(list, op, kTypes[turn++ % std::size(kTypes)], 1, columns);
  }
}

void list_cpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  const DataType type = DataType::fp32;
  add(list, ReductionOp::softmax, type, 2048, 4096);
  add(list, ReductionOp::rms_norm, type, 2048, 4096);
  if (suite == SuiteName::quick) return;
  add_all(list, type, 2048, 4096);
  add(list, ReductionOp::softmax, type, 32, 262144);
  add(list, ReductionOp::softmax, type, 2049, 4095);
  for (const ReductionOp op : {ReductionOp::softmax, ReductionOp::rms_norm}) add(list, op, DataType::bf16, 4096, 4096);
  if (suite == SuiteName::baseline) return;
  for (const DataType each : kTypes) {
    for (std::int64_t columns = 1024; columns <= 262144; columns *= 4) add_all(list, each, (8 << 20) / columns, columns);
  }
}

void list_gpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  using Op = ReductionOp;
  const DataType bf16 = DataType::bf16;
  add(list, Op::softmax, bf16, 8192, 8192);
  add(list, Op::rms_norm, bf16, 8192, 8192);
  if (suite == SuiteName::quick) return;
  for (const Op op : {Op::softmax, Op::layer_norm, Op::rms_norm}) {
    for (const auto& [rows, columns] : {std::pair{16384, 4096}, {8192, 8192}, {4096, 16384}, {2048, 262144}}) {
      add(list, op, bf16, rows, columns);
    }
    add(list, op, DataType::fp32, 8192, 8192);
  }
  for (const auto& [rows, columns] : {std::pair{262144, 1024}, {131072, 2048}, {8192, 32768}, {4096, 65536}, {8192, 8191}}) {
    add(list, Op::softmax, bf16, rows, columns);
  }
  add(list, Op::softmax, DataType::fp16, 8192, 8192);
  add(list, Op::softmax, DataType::fp32, 1024, 262144);
  add(list, Op::residual_rms_norm, bf16, 8192, 8192);
  add(list, Op::cross_entropy, bf16, 8192, kLlama3_8b.vocabulary);
  add(list, Op::row_sum, bf16, 8192, 8192);
  add(list, Op::quantise, bf16, 8192, 8192);
  if (suite == SuiteName::baseline) return;
  constexpr std::int64_t kElements = std::int64_t{1} << 28;
  // bf16: every power of two, and rows that are no multiple of a packet. The others use the same code: every second power.
  for (const DataType type : kTypes) {
    for (std::int64_t columns = 1024; columns <= 262144; columns *= type == bf16 ? 2 : 4) {
      add_all(list, type, kElements / columns, columns);
    }
    add_all(list, type, 8192, 8192);
  }
  for (const std::int64_t columns : {1023, 8191, 128257}) add_all(list, bf16, kElements / columns, columns);
}

void list_smoke(CaseList& list) {
  if (list.on_gpu()) return add(list, ReductionOp::softmax, DataType::bf16, 8192, 8192);
  Listing warm = list.listing();  // as the products of this suite
  warm.cache = warm.cache.value_or(Cache::warm);
  list.add(reduction_case(warm, {ReductionOp::softmax, DataType::fp32, 2048, 4096}));
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  constexpr std::int64_t kLongestRow = std::int64_t{1} << 20;  // the check's bounds are tested to 2^18
  const By by = asked.is_or("algo", "separate", "fused") ? By::separate : By::fused;
  return reduction_case(listing, {asked.operation_of(kReductionOps), asked.type(), asked.number("rows"),
                                  asked.number("columns", 1, kLongestRow), by});
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu, list_smoke); }

}  // namespace roofmark::reductions
