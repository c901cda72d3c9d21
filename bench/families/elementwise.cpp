// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/support/groups.hpp"
#include "bench/support/listing.hpp"
#include "bench/support/reference_check.hpp"
#include "harness/model/traffic.hpp"
#include "kernels/stream.hpp"

namespace roofmark {
namespace {

using Op = ElementwiseOp;

/// bias_gelu_residual and adamw in one kernel, or in one for each step.
enum class By { fused, separate };

constexpr bool comes_in_steps(Op op) { return op == Op::bias_gelu_residual || op == Op::adamw; }

/// Bytes of each array, 0 where the operation has none.
struct ArrayBytes {
  std::size_t x, y, bias, angles, ids, out, state;

  explicit ArrayBytes(const ElementwiseProblem& p) {
    const auto elements = static_cast<std::size_t>(p.elements()), rows = static_cast<std::size_t>(p.rows);
    const std::size_t width = size_of(p.type), row = static_cast<std::size_t>(p.columns) * width;
    const bool second = p.op == Op::add || p.op == Op::swiglu || p.op == Op::bias_gelu_residual;
    x = p.op == Op::embedding ? static_cast<std::size_t>(p.vocabulary) * row : elements * width;
    y = p.op == Op::residual_add ? elements * sizeof(float) : second ? elements * width : 0;
    bias = p.op == Op::bias_gelu_residual ? row : 0;
    angles = p.op == Op::rope ? rows * static_cast<std::size_t>(p.head / 2) * sizeof(float) : 0;
    ids = p.op == Op::embedding ? rows * sizeof(std::int32_t) : 0;
    out = is_adamw(p.op) ? 0 : elements * size_of(output_type(p));
    state = is_adamw(p.op) ? elements * sizeof(float) : 0;
  }
  std::size_t allocated() const {
    return aligned(x) + aligned(y) + aligned(bias) + 2 * aligned(angles) + aligned(ids) + aligned(out) + 3 * aligned(state);
  }
  /// What a launch must move: of a table, the rows that are looked up; of AdamW's state, both ways.
  std::size_t moved(const ElementwiseProblem& p) const {
    return (p.op == Op::embedding ? out : x) + y + bias + 2 * angles + ids + out + 2 * 3 * state;
  }
  std::size_t touched(const ElementwiseProblem& p) const { return moved(p) - 3 * state; }
};

ElementwiseArrays arrays_at(std::byte* base, const ArrayBytes& bytes) {
  const auto next = [&](std::size_t size) {
    std::byte* const here = size ? base : nullptr;
    base += aligned(size);
    return static_cast<void*>(here);
  };
  const auto floats = [&](std::size_t size) { return static_cast<float*>(next(size)); };
  ElementwiseArrays arrays;
  arrays.x = next(bytes.x);
  arrays.y = next(bytes.y);
  arrays.bias = next(bytes.bias);
  arrays.cosines = floats(bytes.angles);
  arrays.sines = floats(bytes.angles);
  arrays.ids = static_cast<const std::int32_t*>(next(bytes.ids));
  arrays.out = next(bytes.out);
  arrays.p = floats(bytes.state);
  arrays.m = floats(bytes.state);
  arrays.v = floats(bytes.state);
  return arrays;
}

/// What all slots share: the results of steps, and AdamW's state before the first.
std::size_t shared_bytes(const ElementwiseProblem& problem, const ArrayBytes& bytes, By by) {
  if (problem.op == Op::adamw) return 3 * aligned(bytes.state);
  return by == By::separate ? 2 * aligned(bytes.out) : 0;
}

/// In units of u(type) x the scale of elementwise_reference.hpp. Types narrower than fp32: one for the rounding of the result,
/// and what fp32 lost before it. In roundoffs of fp32:
///   add, rope       1 for the sum; and 1 for the products
///   silu            4 for the exponential, 1 for the sum, 2 for the reciprocal, 2 for the products; swiglu 1 more
///   gelu_tanh       as silu, and 4 for what the exponential is of; bias_gelu_residual 2 more
///   gelu_erf        10 for the polynomial, 8 for what it is of, 4 + 2 for the exponential and what it is of, 6 for the rest;
///   and
///                   1.1e-5 for the tail of narrow types
///   adamw           m 2, v 3; p 2 for m, 3 for the root of v, 4 for the divisor, 3 for the rest
/// Steps that are rounded to the type in between lose one roundoff of it each.
double bound(const ElementwiseProblem& problem, By by, ElementwiseOutput which) {
  const DataType type = is_adamw(problem.op) ? DataType::fp32 : output_type(problem);
  const double u = unit_roundoff(DataType::fp32);
  const double in_fp32 = [&]() -> double {
    switch (problem.op) {
      case Op::relu:
      case Op::cast:
      case Op::embedding:
        return 0;
      case Op::rope:
        return 2;
      case Op::silu:
        return 9;
      case Op::swiglu:
        return 10;
      case Op::gelu_tanh:
        return 13;
      case Op::gelu_erf:
        return type == DataType::fp32 ? 30 : 30 + 1.1e-5 / u;
      case Op::bias_gelu_residual:
        return 15;
      case Op::adamw:
        return which == ElementwiseOutput::m ? 2 : which == ElementwiseOutput::v ? 3 : 12;
      default:
        return 1;
    }
  }();
  const double steps = by == By::separate && problem.op == Op::bias_gelu_residual ? 2 : 0;
  if (type == DataType::fp32) return in_fp32 + steps;
  const bool exact = problem.op == Op::relu || problem.op == Op::embedding;
  return (exact ? 0 : 1) + steps + in_fp32 * u / unit_roundoff(type);
}

class PreparedElementwise final : public Prepared {
 public:
  PreparedElementwise(const Setup& setup, const ElementwiseProblem& problem, By by, const ElementwiseKernels& kernels,
                      const StreamKernels* stream)
      : device_(setup.device), problem_(problem), by_(by), bytes_(problem), kernels_(kernels), stream_(stream) {
    memory_ = device_.allocate(static_cast<std::size_t>(setup.slots) * bytes_.allocated());
    if (const std::size_t shared = shared_bytes(problem, bytes_, by)) shared_ = device_.allocate(shared);
    if (problem_.op == Op::adamw) fill_state(setup);
    for (int slot = 0; slot < setup.slots; ++slot) {
      const ElementwiseArrays a = arrays(slot);
      fill(setup, a.x, problem_.type, bytes_.x, 0);
      fill(setup, a.y, problem_.op == Op::residual_add ? DataType::fp32 : problem_.type, bytes_.y, 1);
      fill(setup, a.bias, problem_.type, bytes_.bias, 2);
      fill(setup, a.cosines, DataType::fp32, bytes_.angles, 3);
      fill(setup, a.sines, DataType::fp32, bytes_.angles, 4);
      if (a.ids) fill_ids(const_cast<std::int32_t*>(a.ids));
      for (const Output& output : outputs(slot)) device_.poison(output.data, output.count * size_of(output.type));
    }
  }

  void launch(Stream stream, int slot) override {
    const ElementwiseArrays a = arrays(slot);
    if (by_ == By::fused) return step(problem_.op, a, stream);
    if (problem_.op == Op::adamw) {
      for (const Op op : {Op::adamw_decay, Op::adamw_first, Op::adamw_second, Op::adamw_update}) step(op, a, stream);
      return;
    }
    auto* const biased = static_cast<std::byte*>(shared_.get());
    auto* const activated = biased + aligned(bytes_.out);
    ElementwiseArrays first, second, third;
    first.x = a.x;
    first.bias = a.bias;
    first.out = biased;
    second.x = biased;
    second.out = activated;
    third.x = activated;
    third.y = a.y;
    third.out = a.out;
    step(Op::bias_add, first, stream);
    step(Op::gelu_tanh, second, stream);
    step(Op::add, third, stream);
  }

  bool needs_reset() const override { return problem_.op == Op::adamw; }
  void reset(int slot) override {
    if (!needs_reset()) return;
    const ElementwiseArrays a = arrays(slot);
    for (const auto& [to, from] : {std::pair{a.p, a.p_before}, {a.m, a.m_before}, {a.v, a.v_before}}) {
      stream_->library_copy(to, from, bytes_.state, device_.stream());
    }
  }

  Verification verify(int slot) override { return check_outputs(device_, written_by(slot)); }

  std::vector<Output> outputs(int slot) override { return outputs_of(written_by(slot)); }

 private:
  ElementwiseArrays arrays(int slot) {
    auto* const base = static_cast<std::byte*>(memory_.get()) + static_cast<std::size_t>(slot) * bytes_.allocated();
    ElementwiseArrays all = arrays_at(base, bytes_);
    if (problem_.op == Op::adamw) {
      all.p_before = before(0);
      all.m_before = before(1);
      all.v_before = before(2);
    }
    return all;
  }
  float* before(std::size_t which) {
    return reinterpret_cast<float*>(static_cast<std::byte*>(shared_.get()) + which * aligned(bytes_.state));
  }

  std::vector<CheckedOutput> written_by(int slot) {
    const ElementwiseArrays a = arrays(slot);
    const auto checked = [&](std::string_view name, ElementwiseOutput which, void* data) -> CheckedOutput {
      const auto reference = [=, this](std::int64_t first, std::int64_t count, double* expected, double* scale) {
        kernels_.reference(problem_, a, which, first, count, expected, scale, device_.stream());
      };
      const Output output = {data, output_type(problem_), static_cast<std::size_t>(problem_.elements())};
      return {name, output, 1, bound(problem_, by_, which), reference};
    };
    if (!is_adamw(problem_.op)) return {checked("out", ElementwiseOutput::out, a.out)};
    return {checked("p", ElementwiseOutput::p, a.p), checked("m", ElementwiseOutput::m, a.m),
            checked("v", ElementwiseOutput::v, a.v)};
  }

  void step(Op op, const ElementwiseArrays& arrays, Stream stream) const {
    ElementwiseProblem problem = problem_;
    problem.op = op;
    kernels_.launch(problem, arrays, stream);
  }

  void fill(const Setup& setup, const void* data, DataType type, std::size_t bytes, std::uint64_t array) {
    if (data) device_.fill(const_cast<void*>(data), type, bytes / size_of(type), {setup.data, setup.seed, array});
  }
  /// A second moment is a mean of squares: here it is what one other gradient leaves.
  void fill_state(const Setup& setup) {
    fill(setup, before(0), DataType::fp32, bytes_.state, 5);
    fill(setup, before(1), DataType::fp32, bytes_.state, 6);
    ElementwiseArrays other;
    other.x = arrays(0).x;
    other.v = before(2);
    fill(setup, other.x, problem_.type, bytes_.x, 7);
    device_.zero(other.v, bytes_.state);
    step(Op::adamw_second, other, device_.stream());
    device_.synchronize();
  }
  /// Each row of the table at most once, as long as there are rows.
  void fill_ids(std::int32_t* to) {
    constexpr std::int64_t kApart = 48271;  // a prime
    std::vector<std::int32_t> ids(static_cast<std::size_t>(problem_.rows));
    for (std::size_t t = 0; t < ids.size(); ++t) {
      ids[t] = static_cast<std::int32_t>(static_cast<std::int64_t>(t) * kApart % problem_.vocabulary);
    }
    device_.to_device(to, ids.data(), ids.size() * sizeof(ids[0]));
  }

  Device& device_;
  ElementwiseProblem problem_;
  By by_;
  ArrayBytes bytes_;
  const ElementwiseKernels& kernels_;
  const StreamKernels* stream_;
  Memory memory_, shared_;
};

/// Of the formulas in elementwise.hpp, an element: additions, multiplications, divisions, roots and comparisons; and
/// exponentials, of which a tanh and an erf take one.
struct Arithmetic {
  double flops, exponentials;
};
Arithmetic arithmetic(Op op) {
  switch (op) {
    case Op::gelu_tanh:
      return {8, 1};
    case Op::gelu_erf:
      return {4, 1};
    case Op::silu:
      return {2, 1};
    case Op::swiglu:
      return {3, 1};
    case Op::bias_gelu_residual:
      return {10, 1};
    case Op::cast:
    case Op::embedding:
      return {0, 0};
    case Op::rope:
      return {3, 0};
    case Op::adamw:
      return {14, 0};
    default:
      return {1, 0};
  }
}

Shape shape_of(const ElementwiseProblem& p) {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  switch (p.op) {
    case Op::bias_gelu_residual:
      return {{"rows", text(p.rows)}, {"columns", text(p.columns)}};
    case Op::rope:
      return {{"tokens", text(p.rows)}, {"heads", text(p.columns / p.head)}, {"d", text(p.head)}};
    case Op::embedding:
      return {{"tokens", text(p.rows)}, {"d", text(p.columns)}, {"vocabulary", text(p.vocabulary)}};
    case Op::cast:
      return {{"elements", text(p.elements())}, {"to", std::string(name(p.to))}};
    default:
      return {{"elements", text(p.elements())}};
  }
}

Case elementwise_case(const Listing& listing, const ElementwiseProblem& problem, By by) {
  const DeviceInfo& device = listing.device;
  const ElementwiseKernels* kernels = select(device.backend, &cuda::elementwise, &cpu::elementwise);
  const StreamKernels* stream = select(device.backend, &cuda::stream, &cpu::stream);
  const ArrayBytes bytes(problem);
  const Cache cache = listing.cache.value_or(Cache::cold);
  const auto elements = static_cast<double>(problem.elements());

  Case c;
  c.family = "elementwise";
  c.operation = name(problem.op);
  c.type = problem.type;
  c.shape = shape_of(problem);
  c.shape.emplace_back("impl", "own");
  if (comes_in_steps(problem.op)) c.shape.emplace_back("algo", by == By::fused ? "fused" : "separate");
  c.shape.push_back(shape_entry(cache));
  Phase demands =
      memory_demands(device, static_cast<double>(bytes.touched(problem)), static_cast<double>(bytes.moved(problem)), cache);
  const Arithmetic counted = arithmetic(problem.op);
  if (counted.flops > 0) demands.push_back({resource::fp32_fma, counted.flops * elements});
  // The CPU has no unit for exponentials, and no ceiling of them.
  if (counted.exponentials > 0 && device.backend == Backend::cuda) {
    demands.push_back({resource::exp, counted.exponentials * elements});
  }
  c.work.phases = {demands};
  c.protocol.cache = cache;
  c.slot_bytes = bytes.allocated();
  c.shared_bytes = shared_bytes(problem, bytes, by);
  c.touched_bytes = bytes.touched(problem);
  if (!kernels || !stream || !stream->library_copy) {
    c.unsupported = "this build has no element-wise kernels for the device";
  } else if (!kernels->supports(problem)) {
    c.unsupported = fmt::format("no {} of {} on this device", name(problem.op), name(problem.type));
  }
  if (!c.unsupported.empty()) return c;
  c.prepare = [=](const Setup& setup) -> std::unique_ptr<Prepared> {
    return std::make_unique<PreparedElementwise>(setup, problem, by, *kernels, stream);
  };
  return c;
}

void add(Groups& groups, const ElementwiseProblem& problem) {
  Group group = {{elementwise_case(groups.listing(), problem, By::fused)}, {}};
  if (comes_in_steps(problem.op)) {
    group.cases.push_back(elementwise_case(groups.listing(), problem, By::separate));
    group.comparisons = {compare(group.cases[0], group.cases[1])};
  }
  groups.add(std::move(group));
}
void add_flat(Groups& groups, Op op, DataType type, std::int64_t elements) {
  add(groups, {.op = op, .type = type, .rows = 1, .columns = elements});
}
void add_cast(Groups& groups, DataType type, DataType to, std::int64_t elements) {
  add(groups, {.op = Op::cast, .type = type, .to = to, .rows = 1, .columns = elements});
}
void add_bias_gelu_residual(Groups& groups, DataType type, std::int64_t rows, std::int64_t columns) {
  add(groups, {.op = Op::bias_gelu_residual, .type = type, .rows = rows, .columns = columns});
}
void add_rope(Groups& groups, DataType type, std::int64_t tokens, std::int64_t heads, std::int64_t d) {
  add(groups, {.op = Op::rope, .type = type, .rows = tokens, .columns = heads * d, .head = d});
}
void add_embedding(Groups& groups, DataType type, std::int64_t tokens, std::int64_t d, std::int64_t vocabulary) {
  add(groups, {.op = Op::embedding, .type = type, .rows = tokens, .columns = d, .vocabulary = vocabulary});
}

constexpr Op kFlatOps[] = {Op::add, Op::relu, Op::gelu_tanh, Op::gelu_erf, Op::silu, Op::swiglu, Op::residual_add};
constexpr DataType kTypes[] = {DataType::bf16, DataType::fp16, DataType::fp32};
constexpr std::pair<DataType, DataType> kCasts[] = {{DataType::bf16, DataType::fp32}, {DataType::fp32, DataType::bf16},
                                                    {DataType::fp16, DataType::fp32}, {DataType::fp32, DataType::fp16},
                                                    {DataType::bf16, DataType::fp16}, {DataType::bf16, DataType::fp8}};
/// Llama 3's.
constexpr std::int64_t kVocabulary = 128256, kHead = 128;

// One element, less than a packet, ends that fill none, and more than a block.
void list_contract(Groups& groups) {
  for (const DataType type : kTypes) {
    for (const std::int64_t elements : {1, 7, 4099, 9000}) {
      for (const Op op : kFlatOps) add_flat(groups, op, type, elements);
      if (type != DataType::fp16) add_flat(groups, Op::adamw, type, elements);
    }
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 5}, {7, 4096}, {67, 129}}) {
      add_bias_gelu_residual(groups, type, rows, columns);
      add_embedding(groups, type, rows, columns, 211);
    }
    add_rope(groups, type, 1, 1, 2);
    add_rope(groups, type, 5, 3, 6);
    add_rope(groups, type, 37, 4, 64);
    add_rope(groups, type, 9, 8, 128);
  }
  for (const auto& [type, to] : kCasts) {
    for (const std::int64_t elements : {1, 7, 4099, 9000}) add_cast(groups, type, to, elements);
  }
}

void list_cpu(Groups& groups) {
  const SuiteName suite = groups.listing().suite;
  constexpr std::int64_t kElements = 8 << 20;
  const DataType fp32 = DataType::fp32;
  add_flat(groups, Op::add, fp32, kElements);
  add_flat(groups, Op::gelu_tanh, fp32, kElements);
  if (suite == SuiteName::quick) return;
  for (const Op op : kFlatOps) add_flat(groups, op, fp32, kElements);
  add_cast(groups, DataType::bf16, fp32, kElements);
  add_cast(groups, fp32, DataType::bf16, kElements);
  add_rope(groups, fp32, 2048, 32, kHead);
  add_embedding(groups, fp32, 2048, 4096, 4096);
  add_bias_gelu_residual(groups, fp32, 2048, 4096);
  add_flat(groups, Op::adamw, fp32, kElements / 2);
  for (const Op op : {Op::add, Op::gelu_tanh}) add_flat(groups, op, DataType::bf16, 2 * kElements);
  if (suite == SuiteName::baseline) return;
  for (const auto& [type, to] : kCasts) add_cast(groups, type, to, kElements);
  for (const Op op : kFlatOps) {
    add_flat(groups, op, fp32, 8 * kElements);
    for (const DataType type : {DataType::bf16, DataType::fp16}) add_flat(groups, op, type, kElements);
  }
}

void list_gpu(Groups& groups) {
  const SuiteName suite = groups.listing().suite;
  // 512 MiB an array.
  constexpr std::int64_t kNarrow = std::int64_t{1} << 28, kWide = kNarrow / 2;
  const DataType bf16 = DataType::bf16, fp32 = DataType::fp32;
  add_flat(groups, Op::add, bf16, kNarrow);
  add_flat(groups, Op::gelu_tanh, bf16, kNarrow);
  if (suite == SuiteName::quick) return;
  for (const Op op : kFlatOps) add_flat(groups, op, bf16, kNarrow);
  for (const auto& [type, to] : kCasts) add_cast(groups, type, to, kNarrow);
  add_rope(groups, bf16, 65536, 32, kHead);
  add_embedding(groups, bf16, 65536, 4096, kVocabulary);
  add_bias_gelu_residual(groups, bf16, 32768, 8192);
  add_flat(groups, Op::adamw, fp32, kWide / 2);
  add_flat(groups, Op::adamw, bf16, kWide / 2);
  for (const Op op : {Op::add, Op::gelu_tanh, Op::gelu_erf, Op::swiglu}) add_flat(groups, op, fp32, kWide);
  add_flat(groups, Op::gelu_tanh, DataType::fp16, kNarrow);
  if (suite == SuiteName::baseline) return;
  for (const Op op : kFlatOps) {
    for (const std::int64_t elements : {1 << 20, 1 << 23, 1 << 25}) add_flat(groups, op, bf16, elements);
  }
  for (const DataType type : kTypes) {
    const std::int64_t most = type == fp32 ? kWide : kNarrow;
    for (const Op op : kFlatOps) {
      add_flat(groups, op, type, most);
      add_flat(groups, op, type, most - 1);
    }
    for (const std::int64_t d : {64, 128, 256}) add_rope(groups, type, 32768, 8192 / d, d);
    add_embedding(groups, type, 32768, 8192, kVocabulary);
    for (const std::int64_t columns : {4096, 8192, 16384}) add_bias_gelu_residual(groups, type, most / columns, columns);
  }
}

}  // namespace

std::vector<Group> elementwise(const Listing& listing) { return list_groups(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark
