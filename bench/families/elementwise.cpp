// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "bench/support/case_list.hpp"
#include "bench/support/case_request.hpp"
#include "bench/support/memory_case.hpp"
#include "bench/support/model_shapes.hpp"
#include "bench/support/operation_counts.hpp"
#include "bench/support/reference_check.hpp"
#include "bench/support/slots.hpp"
#include "kernels/stream.hpp"

namespace roofmark::elementwise {
namespace {

using Op = ElementwiseOp;

/// bias_gelu_residual and adamw in one kernel, or in one kernel per step.
enum class By { fused, separate };

constexpr bool comes_in_steps(Op op) { return op == Op::bias_gelu_residual || op == Op::adamw; }

constexpr std::size_t kX = 0, kY = 1, kBias = 2, kCosines = 3, kSines = 4, kIds = 5, kOut = 6, kP = 7, kM = 8, kV = 9;

SlotLayout layout_of(const ElementwiseProblem& p) {
  const auto elements = static_cast<std::size_t>(p.elements()), rows = static_cast<std::size_t>(p.rows),
             columns = static_cast<std::size_t>(p.columns);
  const ElementwiseOperation& op = operation(p.op);
  const std::size_t angles = p.op == Op::rope ? rows * static_cast<std::size_t>(p.head / 2) : 0;
  const std::size_t state = is_adamw(p.op) ? elements : 0;
  return SlotLayout(
      {SlotArray::input(p.type, p.op == Op::embedding ? static_cast<std::size_t>(p.vocabulary) * columns : elements, kX),
       SlotArray::input(p.op == Op::residual_add ? DataType::fp32 : p.type, op.reads_y ? elements : 0, kY),
       SlotArray::input(p.type, op.reads_bias ? columns : 0, kBias), SlotArray::input(DataType::fp32, angles, kCosines),
       SlotArray::input(DataType::fp32, angles, kSines), SlotArray::scratch(DataType::int32, p.op == Op::embedding ? rows : 0),
       SlotArray::output(output_type(p), is_adamw(p.op) ? 0 : elements), SlotArray::output(DataType::fp32, state),
       SlotArray::output(DataType::fp32, state), SlotArray::output(DataType::fp32, state)});
}

/// Shared by all slots: AdamW's p, m and v before the first step, or the results of the separate steps.
SlotLayout shared_layout(const ElementwiseProblem& p, By by) {
  const auto elements = static_cast<std::size_t>(p.elements());
  if (p.op == Op::adamw) {
    return SlotLayout({SlotArray::input(DataType::fp32, elements, 5), SlotArray::input(DataType::fp32, elements, 6),
                       SlotArray::scratch(DataType::fp32, elements)});
  }
  const std::size_t steps = by == By::separate ? elements : 0;
  return SlotLayout({SlotArray::scratch(output_type(p), steps), SlotArray::scratch(output_type(p), steps)});
}

/// Bytes that a launch touches; of the embedding's table, only the rows that are looked up, each once.
std::size_t touched_bytes(const ElementwiseProblem& p) {
  const SlotLayout layout = layout_of(p);
  if (p.op != Op::embedding) return layout.touched_bytes();
  const auto looked_up = static_cast<std::size_t>(std::min(p.rows, p.vocabulary) * p.columns) * size_of(p.type);
  return layout.touched_bytes() - layout[kX].bytes() + looked_up;
}
/// AdamW updates its state.
LaunchBytes launch_bytes(const ElementwiseProblem& p) {
  const std::size_t touched = touched_bytes(p), updated = 3 * layout_of(p)[kP].bytes();
  return {touched, touched + updated, updated};
}

double loss_in_fp32(Op op, DataType type, ElementwiseOutput which) {
  if (which == ElementwiseOutput::m) return operation(Op::adamw_first).loss_in_fp32;
  if (which == ElementwiseOutput::v) return operation(Op::adamw_second).loss_in_fp32;
  const double tail = op == Op::gelu_erf && type != DataType::fp32 ? 1.1e-5 / unit_roundoff(DataType::fp32) : 0;
  return operation(op).loss_in_fp32 + tail;
}

/// In units of u(type) x the scale of elementwise_reference.hpp. Types narrower than fp32: the loss in fp32, and 1 for the
/// rounding of the result. Each separate step loses one more roundoff of the type.
double bound(const ElementwiseProblem& problem, By by, ElementwiseOutput which) {
  const DataType type = output_type(problem);
  const double loss = loss_in_fp32(problem.op, type, which);
  const double steps = by == By::separate && problem.op == Op::bias_gelu_residual ? 2 : 0;
  if (type == DataType::fp32) return loss + steps;
  const bool exact = problem.op == Op::relu || problem.op == Op::embedding;
  return (exact ? 0 : 1) + steps + loss * unit_roundoff(DataType::fp32) / unit_roundoff(type);
}

class PreparedElementwise final : public Prepared {
 public:
  PreparedElementwise(const Setup& setup, const ElementwiseProblem& problem, By by, const ElementwiseKernels& kernels,
                      const StreamKernels* stream)
      : device_(setup.device),
        problem_(problem),
        by_(by),
        kernels_(kernels),
        stream_(stream),
        shared_(setup, shared_layout(problem, by), 1),
        slots_(setup, layout_of(problem)) {
    if (problem_.op == Op::adamw) fill_second_moment(setup);
    for (int slot = 0; slot < setup.slots && problem_.op == Op::embedding; ++slot) {
      fill_ids(slots_.at<std::int32_t>(slot, kIds));
    }
  }

  void launch(Stream stream, int slot) override {
    const ElementwiseArrays a = arrays(slot);
    if (by_ == By::fused) return step(problem_.op, a, stream);
    if (problem_.op == Op::adamw) {
      for (const Op op : {Op::adamw_decay, Op::adamw_first, Op::adamw_second, Op::adamw_update}) step(op, a, stream);
      return;
    }
    void *const biased = shared_.at(0, 0), *const activated = shared_.at(0, 1);
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
      stream_->library_copy(to, from, slots_.layout()[kP].bytes(), device_.stream());
    }
  }

  Verification verify(int slot) override { return check_outputs(device_, written_by(slot)); }

  std::vector<Output> outputs(int slot) override { return outputs_of(written_by(slot)); }
  bool is_deterministic() const override { return true; }  // an element is of its own inputs alone

 private:
  ElementwiseArrays arrays(int slot) const {
    ElementwiseArrays all;
    all.x = slots_.at(slot, kX);
    all.y = slots_.at(slot, kY);
    all.bias = slots_.at(slot, kBias);
    all.cosines = slots_.at<float>(slot, kCosines);
    all.sines = slots_.at<float>(slot, kSines);
    all.ids = slots_.at<std::int32_t>(slot, kIds);
    all.out = slots_.at(slot, kOut);
    all.p = slots_.at<float>(slot, kP);
    all.m = slots_.at<float>(slot, kM);
    all.v = slots_.at<float>(slot, kV);
    if (problem_.op == Op::adamw) {
      all.p_before = shared_.at<float>(0, 0);
      all.m_before = shared_.at<float>(0, 1);
      all.v_before = shared_.at<float>(0, 2);
    }
    return all;
  }

  std::vector<CheckedOutput> written_by(int slot) {
    const ElementwiseArrays a = arrays(slot);
    const auto checked = [&](std::string_view name, ElementwiseOutput which, std::size_t array) -> CheckedOutput {
      const auto reference = [=, this](std::int64_t first, std::int64_t count, double* expected, double* scale) {
        kernels_.reference(problem_, a, which, first, count, expected, scale, device_.stream());
      };
      return {name, slots_.output(slot, array), 1, bound(problem_, by_, which), reference};
    };
    if (!is_adamw(problem_.op)) return {checked("out", ElementwiseOutput::out, kOut)};
    return {checked("p", ElementwiseOutput::p, kP), checked("m", ElementwiseOutput::m, kM),
            checked("v", ElementwiseOutput::v, kV)};
  }

  void step(Op op, const ElementwiseArrays& arrays, Stream stream) const {
    ElementwiseProblem problem = problem_;
    problem.op = op;
    kernels_.launch(problem, arrays, stream);
  }

  /// A second moment is a mean of squares: that of one step with another gradient.
  void fill_second_moment(const Setup& setup) {
    const SlotArray& gradient = slots_.layout()[kX];
    ElementwiseArrays other;
    other.x = slots_.at(0, kX);
    other.v = shared_.at<float>(0, 2);
    device_.fill(slots_.at(0, kX), gradient.type, gradient.count, {setup.data, setup.seed, 7});
    device_.zero(other.v, slots_.layout()[kV].bytes());
    step(Op::adamw_second, other, device_.stream());
    device_.synchronize();
    device_.fill(slots_.at(0, kX), gradient.type, gradient.count, {setup.data, setup.seed, gradient.sequence});
  }
  /// Looks up every row of the table before it repeats one.
  void fill_ids(std::int32_t* to) {
    // Primes, of which no id of 32 bits is a multiple of both.
    const std::int64_t apart = problem_.vocabulary % 48271 == 0 ? 48281 : 48271;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(problem_.rows));
    for (std::size_t t = 0; t < ids.size(); ++t) {
      ids[t] = static_cast<std::int32_t>(static_cast<std::int64_t>(t) * apart % problem_.vocabulary);
    }
    device_.to_device(to, ids.data(), ids.size() * sizeof(ids[0]));
  }

  Device& device_;
  ElementwiseProblem problem_;
  By by_;
  const ElementwiseKernels& kernels_;
  const StreamKernels* stream_;
  Slots shared_, slots_;
};

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
  Shape shape = shape_of(problem);
  shape.emplace_back("impl", "own");
  if (comes_in_steps(problem.op)) shape.emplace_back("algo", by == By::fused ? "fused" : "separate");
  Case c = memory_case(device, "elementwise", std::string(name(problem.op)), problem.type, std::move(shape),
                       listing.cache.value_or(Cache::cold), layout_of(problem), launch_bytes(problem));
  add_demands(c.work.phases.front(), operation(problem.op).counts, static_cast<double>(problem.elements()), device.backend);
  c.shared_bytes = shared_layout(problem, by).slot_bytes();
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

void add(CaseList& list, const ElementwiseProblem& problem) {
  Group group = {{elementwise_case(list.listing(), problem, By::fused)}, {}};
  if (comes_in_steps(problem.op)) {
    group.cases.push_back(elementwise_case(list.listing(), problem, By::separate));
    group.comparisons = {compare(group.cases[0], group.cases[1])};
  }
  list.add(std::move(group));
}
void add_flat(CaseList& list, Op op, DataType type, std::int64_t elements) {
  add(list, {.op = op, .type = type, .rows = 1, .columns = elements});
}
void add_cast(CaseList& list, DataType type, DataType to, std::int64_t elements) {
  add(list, {.op = Op::cast, .type = type, .to = to, .rows = 1, .columns = elements});
}
void add_bias_gelu_residual(CaseList& list, DataType type, std::int64_t rows, std::int64_t columns) {
  add(list, {.op = Op::bias_gelu_residual, .type = type, .rows = rows, .columns = columns});
}
void add_rope(CaseList& list, DataType type, std::int64_t tokens, std::int64_t heads, std::int64_t d) {
  add(list, {.op = Op::rope, .type = type, .rows = tokens, .columns = heads * d, .head = d});
}
void add_embedding(CaseList& list, DataType type, std::int64_t tokens, std::int64_t d, std::int64_t vocabulary) {
  add(list, {.op = Op::embedding, .type = type, .rows = tokens, .columns = d, .vocabulary = vocabulary});
}

constexpr Op kFlatOps[] = {Op::add, Op::relu, Op::gelu_tanh, Op::gelu_erf, Op::silu, Op::swiglu, Op::residual_add};
constexpr DataType kTypes[] = {DataType::bf16, DataType::fp16, DataType::fp32};
constexpr std::pair<DataType, DataType> kCasts[] = {{DataType::bf16, DataType::fp32}, {DataType::fp32, DataType::bf16},
                                                    {DataType::fp16, DataType::fp32}, {DataType::fp32, DataType::fp16},
                                                    {DataType::bf16, DataType::fp16}, {DataType::bf16, DataType::fp8}};
constexpr std::int64_t kVocabulary = kLlama3_8b.vocabulary, kHead = kLlama3_8b.head_dim;

// One element, less than a packet, incomplete last packets, and more than a block.
void list_contract(CaseList& list) {
  for (const DataType type : kTypes) {
    for (const std::int64_t elements : {1, 7, 4099, 9000}) {
      for (const Op op : kFlatOps) add_flat(list, op, type, elements);
      if (type != DataType::fp16) add_flat(list, Op::adamw, type, elements);
    }
    for (const auto& [rows, columns] : {std::pair{1, 1}, {3, 5}, {7, 4096}, {67, 129}}) {
      add_bias_gelu_residual(list, type, rows, columns);
      add_embedding(list, type, rows, columns, 211);
    }
    add_rope(list, type, 1, 1, 2);
    add_rope(list, type, 5, 3, 6);
    add_rope(list, type, 37, 4, 64);
    add_rope(list, type, 9, 8, 128);
  }
  for (const auto& [type, to] : kCasts) {
    for (const std::int64_t elements : {1, 7, 4099, 9000}) add_cast(list, type, to, elements);
  }
}

void list_cpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  constexpr std::int64_t kElements = 8 << 20;
  const DataType fp32 = DataType::fp32;
  add_flat(list, Op::add, fp32, kElements);
  add_flat(list, Op::gelu_tanh, fp32, kElements);
  if (suite == SuiteName::quick) return;
  for (const Op op : kFlatOps) add_flat(list, op, fp32, kElements);
  add_cast(list, DataType::bf16, fp32, kElements);
  add_cast(list, fp32, DataType::bf16, kElements);
  add_rope(list, fp32, 2048, 32, kHead);
  add_embedding(list, fp32, 2048, 4096, 4096);
  add_bias_gelu_residual(list, fp32, 2048, 4096);
  add_flat(list, Op::adamw, fp32, kElements / 2);
  for (const Op op : {Op::add, Op::gelu_tanh}) add_flat(list, op, DataType::bf16, 2 * kElements);
  if (suite == SuiteName::baseline) return;
  for (const auto& [type, to] : kCasts) add_cast(list, type, to, kElements);
  for (const Op op : kFlatOps) {
    add_flat(list, op, fp32, 8 * kElements);
    for (const DataType type : {DataType::bf16, DataType::fp16}) add_flat(list, op, type, kElements);
  }
}

void list_gpu(CaseList& list) {
  const SuiteName suite = list.listing().suite;
  // 512 MiB per array.
  constexpr std::int64_t kNarrow = std::int64_t{1} << 28, kWide = kNarrow / 2;
  const DataType bf16 = DataType::bf16, fp32 = DataType::fp32;
  add_flat(list, Op::add, bf16, kNarrow);
  add_flat(list, Op::gelu_tanh, bf16, kNarrow);
  if (suite == SuiteName::quick) return;
  for (const Op op : kFlatOps) add_flat(list, op, bf16, kNarrow);
  for (const auto& [type, to] : kCasts) add_cast(list, type, to, kNarrow);
  add_rope(list, bf16, 65536, 32, kHead);
  add_embedding(list, bf16, 65536, 4096, kVocabulary);
  add_bias_gelu_residual(list, bf16, 32768, 8192);
  add_flat(list, Op::adamw, fp32, kWide / 2);
  add_flat(list, Op::adamw, bf16, kWide / 2);
  for (const Op op : {Op::add, Op::gelu_tanh, Op::gelu_erf, Op::swiglu}) add_flat(list, op, fp32, kWide);
  add_flat(list, Op::gelu_tanh, DataType::fp16, kNarrow);
  if (suite == SuiteName::baseline) return;
  for (const Op op : kFlatOps) {
    for (const std::int64_t elements : {1 << 20, 1 << 23, 1 << 25}) add_flat(list, op, bf16, elements);
  }
  for (const DataType type : kTypes) {
    const std::int64_t most = type == fp32 ? kWide : kNarrow;
    for (const Op op : kFlatOps) {
      add_flat(list, op, type, most);
      add_flat(list, op, type, most - 1);
    }
    for (const std::int64_t d : {64, 128, 256}) add_rope(list, type, 32768, 8192 / d, d);
    add_embedding(list, type, 32768, 8192, kVocabulary);
    for (const std::int64_t columns : {4096, 8192, 16384}) add_bias_gelu_residual(list, type, most / columns, columns);
  }
}

}  // namespace

std::optional<Case> make(const Listing& listing, const CaseRequest& asked) {
  constexpr std::size_t kPacketBytes = 16;
  constexpr std::int64_t kMostPackets = std::int64_t{1} << 32;
  constexpr Op kOps[] = {Op::add,  Op::relu, Op::gelu_tanh, Op::gelu_erf,           Op::silu, Op::swiglu, Op::residual_add,
                         Op::cast, Op::rope, Op::embedding, Op::bias_gelu_residual, Op::adamw};
  ElementwiseProblem p = {.op = asked.operation_of(kOps), .type = asked.type()};
  switch (p.op) {
    case Op::bias_gelu_residual:
      p.rows = asked.number("rows");
      p.columns = asked.number("columns");
      break;
    case Op::rope:
      p.rows = asked.number("tokens");
      p.head = asked.number("d", 2);
      p.columns = asked.number("heads") * p.head;
      if (p.head % 2 != 0) throw std::invalid_argument("d of rope is even");
      break;
    case Op::embedding:
      p.rows = asked.number("tokens");
      p.columns = asked.number("d");
      p.vocabulary = asked.number("vocabulary");
      break;
    default:
      p.columns = static_cast<std::int64_t>(asked.amount("elements"));
  }
  if (p.op == Op::cast) p.to = asked.one_of("to", kArrayTypes, DataType::fp32);
  // An array of rows that are not whole packets is taken element by element.
  const std::size_t widest = std::max(size_of(p.type), size_of(output_type(p)));
  const auto lanes = static_cast<std::int64_t>(kPacketBytes / widest);
  const bool by_packets = p.columns % lanes == 0 || p.rows == 1;
  if (p.elements() / (by_packets ? lanes : 1) >= kMostPackets) {
    throw std::invalid_argument(
        fmt::format("the kernels count fewer than 2^32 packets, here of {} elements", by_packets ? lanes : 1));
  }
  return elementwise_case(listing, p, asked.is_or("algo", "separate", "fused") ? By::separate : By::fused);
}

std::vector<Group> list(const Listing& listing) { return list_cases(listing, list_contract, list_cpu, list_gpu); }

}  // namespace roofmark::elementwise
