// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/reductions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/support/groups.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/reference_check.hpp"
#include "harness/device/random.hpp"
#include "harness/model/traffic.hpp"
#include "kernels/reductions_reference.hpp"
#include "kernels/stream.hpp"

namespace roofmark {
namespace {

/// residual_rms_norm in one kernel, or by the stream's add and an rms_norm.
enum class By { fused, separate };

struct Problem {
  ReductionOp op;
  DataType type;
  std::int64_t rows, columns;
  By by = By::fused;

  std::size_t elements() const { return static_cast<std::size_t>(rows * columns); }
};

/// Bytes of each array, 0 where the operation has none.
struct ArrayBytes {
  std::size_t x, residual, weight, bias, target, out, sum, scale;

  explicit ArrayBytes(const Problem& p) {
    const std::size_t all = p.elements() * size_of(p.type), row = static_cast<std::size_t>(p.columns) * size_of(p.type);
    const std::size_t number = static_cast<std::size_t>(p.rows) * sizeof(float);
    const bool residual_norm = p.op == ReductionOp::residual_rms_norm;
    x = all;
    residual = sum = residual_norm ? all : 0;
    weight = has_weight(p.op) ? row : 0;
    bias = p.op == ReductionOp::layer_norm ? row : 0;
    target = p.op == ReductionOp::cross_entropy ? number : 0;
    out = gives_one_number(p.op) ? number : p.elements() * size_of(output_type(p.op, p.type));
    scale = p.op == ReductionOp::quantise ? number : 0;
  }
  std::size_t touched() const { return x + residual + weight + bias + target + out + sum + scale; }
};

/// Where the arrays of a slot stand.
ReductionArrays arrays_at(std::byte* base, const ArrayBytes& bytes) {
  const auto next = [&](std::size_t size) {
    std::byte* const here = size ? base : nullptr;
    base += aligned(size);
    return static_cast<void*>(here);
  };
  ReductionArrays arrays;
  arrays.x = next(bytes.x);
  arrays.residual = next(bytes.residual);
  arrays.weight = next(bytes.weight);
  arrays.bias = next(bytes.bias);
  arrays.target = static_cast<const std::int32_t*>(next(bytes.target));
  arrays.out = next(bytes.out);
  arrays.sum = next(bytes.sum);
  arrays.scale = static_cast<float*>(next(bytes.scale));
  return arrays;
}
std::size_t slot_bytes(const ArrayBytes& b) {
  return aligned(b.x) + aligned(b.residual) + aligned(b.weight) + aligned(b.bias) + aligned(b.target) + aligned(b.out) +
         aligned(b.sum) + aligned(b.scale);
}

/// In units of u(type) x the scale of reductions_reference.hpp. 16-bit types: one for the rounding of the result, and what fp32
/// lost before it. In roundoffs of fp32:
///   a sum of positive terms   a chain of L like terms loses roundings that are independent and uniform within u x the partial
///                             sum: a standard deviation of sqrt(L) / 3 of the sum, of which eight are allowed, and one for
///                             each of at most 16 levels of merging
///   softmax                   the sum; 4 for each of two exponentials; 3 for the division and the products
///   layer_norm                the mean's sum; half of the squares' sum, 2 for the root, 4 for the rest
///   rms_norm                  half of the squares' sum, 2 for the root, 3 for the products
///   cross_entropy             the sum; 4 for the exponentials, 2 for the logarithm, 4 for the additions
///   row_sum                   signed terms, as for the stream's sums: eight times sqrt(L / 6), and the last rounding
///   sum, quantise             1 for each of the addition, the scale, its inverse and the product
double bound(ReductionOp op, ReductionOutput which, DataType type) {
  const double positive_sum = 8 * std::sqrt(kReductionChunk) / 3 + 16;
  const double in_fp32 = [&] {
    if (which != ReductionOutput::out) return 1.0;
    switch (op) {
      case ReductionOp::softmax:
        return positive_sum + 11;
      case ReductionOp::layer_norm:
        return 1.5 * positive_sum + 6;
      case ReductionOp::rms_norm:
      case ReductionOp::residual_rms_norm:
        return 0.5 * positive_sum + 5;
      case ReductionOp::cross_entropy:
        return positive_sum + 10;
      case ReductionOp::row_sum:
        return 8 * std::sqrt(kReductionChunk / 6.0) + 1;
      case ReductionOp::quantise:
        break;
    }
    return 2.0;
  }();
  if (type == DataType::fp32) return in_fp32;
  return 1 + in_fp32 * unit_roundoff(DataType::fp32) / unit_roundoff(type);
}

class PreparedReduction final : public Prepared {
 public:
  PreparedReduction(const Setup& setup, const Problem& problem, const ReductionKernels& kernels, const StreamKernels* stream)
      : device_(setup.device), problem_(problem), bytes_(problem), kernels_(kernels), stream_(stream) {
    memory_ = device_.allocate(static_cast<std::size_t>(setup.slots) * slot_bytes(bytes_));
    for (int slot = 0; slot < setup.slots; ++slot) {
      const ReductionArrays a = arrays(slot);
      const auto fill = [&](const void* data, std::size_t count, std::uint64_t array) {
        if (data) device_.fill(const_cast<void*>(data), problem_.type, count, {setup.data, setup.seed, array});
      };
      const auto columns = static_cast<std::size_t>(problem_.columns);
      fill(a.x, problem_.elements(), 0);
      fill(a.residual, problem_.elements(), 1);
      fill(a.weight, columns, 2);
      fill(a.bias, columns, 3);
      if (a.target) fill_targets(const_cast<std::int32_t*>(a.target), setup.seed);
      for (const Output& output : outputs(slot)) device_.poison(output.data, output.count * size_of(output.type));
    }
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

 private:
  ReductionArrays arrays(int slot) {
    return arrays_at(static_cast<std::byte*>(memory_.get()) + static_cast<std::size_t>(slot) * slot_bytes(bytes_), bytes_);
  }

  std::vector<CheckedOutput> written_by(int slot) {
    const ReductionArrays a = arrays(slot);
    const auto checked = [&](std::string_view name, ReductionOutput which, void* data, DataType type) -> CheckedOutput {
      const std::int64_t width = reduction_output_columns(problem_.op, which, problem_.columns);
      const auto reference = [=, this](std::int64_t first, std::int64_t count, double* expected, double* scale) {
        kernels_.reference(problem_.op, problem_.type, a, which, first, count, problem_.columns, expected, scale,
                           device_.stream());
      };
      const Output output = {data, type, static_cast<std::size_t>(problem_.rows * width)};
      return {name, output, width, bound(problem_.op, which, type), reference};
    };
    std::vector<CheckedOutput> all = {checked("out", ReductionOutput::out, a.out, output_type(problem_.op, problem_.type))};
    if (a.sum) all.push_back(checked("sum", ReductionOutput::sum, a.sum, problem_.type));
    if (a.scale) all.push_back(checked("scale", ReductionOutput::scale, a.scale, DataType::fp32));
    return all;
  }

  void fill_targets(std::int32_t* to, std::uint64_t seed) {
    constexpr std::uint64_t kTargets = 4;
    std::vector<std::int32_t> targets(static_cast<std::size_t>(problem_.rows));
    for (std::size_t r = 0; r < targets.size(); ++r) {
      targets[r] = static_cast<std::int32_t>(random_bits(seed, kTargets, r) % static_cast<std::uint64_t>(problem_.columns));
    }
    device_.to_device(to, targets.data(), targets.size() * sizeof(targets[0]));
  }

  Device& device_;
  Problem problem_;
  ArrayBytes bytes_;
  const ReductionKernels& kernels_;
  const StreamKernels* stream_;
  Memory memory_;
};

/// Additions, multiplications and comparisons an element, of the formulas in reductions.hpp.
double flops_per_element(ReductionOp op) {
  switch (op) {
    case ReductionOp::softmax:  // max, -, +, x 1 / sum
      return 4;
    case ReductionOp::layer_norm:  // + for the mean, -, square, +, x 1 / sigma, x weight, + bias
      return 7;
    case ReductionOp::rms_norm:  // square, +, x 1 / root, x weight
      return 4;
    case ReductionOp::residual_rms_norm:
      return 5;
    case ReductionOp::cross_entropy:  // max, -, +
      return 3;
    case ReductionOp::row_sum:
      return 1;
    case ReductionOp::quantise:  // max, x 1 / scale
      return 2;
  }
  return 0;
}

Case reduction_case(const Listing& listing, const Problem& problem) {
  const DeviceInfo& device = listing.device;
  const ReductionKernels* kernels = select(device.backend, &cuda::reductions, &cpu::reductions);
  const StreamKernels* stream = select(device.backend, &cuda::stream, &cpu::stream);
  const ArrayBytes bytes(problem);
  const Cache cache = listing.cache.value_or(Cache::cold);
  const auto touched = static_cast<double>(bytes.touched()), elements = static_cast<double>(problem.elements());

  Case c;
  c.family = "reductions";
  c.operation = name(problem.op);
  c.type = problem.type;
  c.shape = {{"rows", std::to_string(problem.rows)}, {"columns", std::to_string(problem.columns)}, {"impl", "own"}};
  if (problem.op == ReductionOp::residual_rms_norm) {
    c.shape.emplace_back("algo", problem.by == By::fused ? "fused" : "separate");
  }
  c.shape.push_back(shape_entry(cache));
  Phase demands = memory_demands(device, touched, touched, cache);
  demands.push_back({resource::fp32_fma, flops_per_element(problem.op) * elements});
  // The CPU has no unit for exponentials, and no ceiling of them.
  const bool exponentials = problem.op == ReductionOp::softmax || problem.op == ReductionOp::cross_entropy;
  if (exponentials && device.backend == Backend::cuda) demands.push_back({resource::exp, elements});
  c.work.phases = {demands};
  c.protocol.cache = cache;
  c.slot_bytes = slot_bytes(bytes);
  c.touched_bytes = bytes.touched();
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

void add(Groups& groups, ReductionOp op, DataType type, std::int64_t rows, std::int64_t columns) {
  Group group = {{reduction_case(groups.listing(), {op, type, rows, columns})}, {}};
  if (op == ReductionOp::residual_rms_norm) {
    group.cases.push_back(reduction_case(groups.listing(), {op, type, rows, columns, By::separate}));
    group.comparisons = {compare(group.cases[0], group.cases[1])};
  }
  groups.add(std::move(group));
}
void add_all(Groups& groups, DataType type, std::int64_t rows, std::int64_t columns) {
  for (const ReductionOp op : kReductionOps) add(groups, op, type, rows, columns);
}

constexpr DataType kTypes[] = {DataType::bf16, DataType::fp16, DataType::fp32};

// Rows for a warp, a block and clusters of 2, 4 and 8, whole packets and not; then, as costly as they are, one row per
// operation of what a cluster's threads hold twice as much of, and of what no cluster holds.
void list_contract(Groups& groups) {
  struct Shape {
    std::int64_t rows, columns;
  };
  std::vector<Shape> shapes = {{1, 1}, {3, 7}, {67, 129}, {9, 1000}, {5, 1032}, {2, 4097}};
  const bool gpu = groups.on_gpu();
  if (gpu) {
    const Shape more[] = {{2, 8200}, {2, 16392}, {1, 33001}, {1, 65544}};
    shapes.insert(shapes.end(), std::begin(more), std::end(more));
  }
  for (const DataType type : kTypes) {
    for (const auto& [rows, columns] : shapes) add_all(groups, type, rows, columns);
  }
  if (!gpu) return;
  std::size_t turn = 0;
  for (const std::int64_t columns : {131080, 131073, 262152}) {
    for (const ReductionOp op : kReductionOps) add(groups, op, kTypes[turn++ % std::size(kTypes)], 1, columns);
  }
}

void list_cpu(Groups& groups) {
  const SuiteName suite = groups.listing().suite;
  const DataType type = DataType::fp32;
  add(groups, ReductionOp::softmax, type, 2048, 4096);
  add(groups, ReductionOp::rms_norm, type, 2048, 4096);
  if (suite == SuiteName::quick) return;
  add_all(groups, type, 2048, 4096);
  add(groups, ReductionOp::softmax, type, 32, 262144);
  add(groups, ReductionOp::softmax, type, 2049, 4095);
  for (const ReductionOp op : {ReductionOp::softmax, ReductionOp::rms_norm}) add(groups, op, DataType::bf16, 4096, 4096);
  if (suite == SuiteName::baseline) return;
  for (const DataType each : kTypes) {
    for (std::int64_t columns = 1024; columns <= 262144; columns *= 4) add_all(groups, each, (8 << 20) / columns, columns);
  }
}

void list_gpu(Groups& groups) {
  const SuiteName suite = groups.listing().suite;
  using Op = ReductionOp;
  const DataType bf16 = DataType::bf16;
  add(groups, Op::softmax, bf16, 8192, 8192);
  add(groups, Op::rms_norm, bf16, 8192, 8192);
  if (suite == SuiteName::quick) return;
  for (const Op op : {Op::softmax, Op::layer_norm, Op::rms_norm}) {
    for (const auto& [rows, columns] : {std::pair{16384, 4096}, {8192, 8192}, {4096, 16384}, {2048, 262144}}) {
      add(groups, op, bf16, rows, columns);
    }
    add(groups, op, DataType::fp32, 8192, 8192);
  }
  for (const auto& [rows, columns] : {std::pair{262144, 1024}, {131072, 2048}, {8192, 32768}, {4096, 65536}, {8192, 8191}}) {
    add(groups, Op::softmax, bf16, rows, columns);
  }
  add(groups, Op::softmax, DataType::fp16, 8192, 8192);
  add(groups, Op::softmax, DataType::fp32, 1024, 262144);
  add(groups, Op::residual_rms_norm, bf16, 8192, 8192);
  add(groups, Op::cross_entropy, bf16, 8192, 128256);
  add(groups, Op::row_sum, bf16, 8192, 8192);
  add(groups, Op::quantise, bf16, 8192, 8192);
  if (suite == SuiteName::baseline) return;
  constexpr std::int64_t kElements = std::int64_t{1} << 28;
  // bf16 has every power of two and rows that are no multiple of a packet; the others, by the same code, every second power.
  for (const DataType type : kTypes) {
    for (std::int64_t columns = 1024; columns <= 262144; columns *= type == bf16 ? 2 : 4) {
      add_all(groups, type, kElements / columns, columns);
    }
    add_all(groups, type, 8192, 8192);
  }
  for (const std::int64_t columns : {1023, 8191, 128257}) add_all(groups, bf16, kElements / columns, columns);
}

}  // namespace

std::vector<Group> reductions(const Listing& listing) { return list_groups(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark
