// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/ceilings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "bench/families/gemm.hpp"
#include "bench/families/stream.hpp"
#include "bench/support/case_list.hpp"
#include "bench/support/rounding.hpp"
#include "bench/support/slots.hpp"

namespace roofmark {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Launch and tail cost less than 0.5 % of this time; it is short enough for many samples.
constexpr double kLaunchSeconds = 2e-3;

/// A launch writes its sink and no other memory.
class Probe : public Prepared {
 public:
  Probe(const Setup& setup, DataType type, std::size_t count)
      : device_(setup.device), slots_(setup, SlotLayout({SlotArray::output(type, count)})) {}
  std::vector<Output> outputs(int slot) override { return {output(slot)}; }

 protected:
  Output output(int slot) { return slots_.output(slot, 0); }
  /// The sink's elements as doubles.
  std::vector<double> results(int slot) {
    const Output sinks = output(slot);
    std::vector<std::byte> raw(sinks.count * size_of(sinks.type));
    device_.to_host(raw.data(), sinks.data, raw.size());
    std::vector<double> values(sinks.count);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_as_double(sinks.type, raw.data(), i);
    return values;
  }
  Device& device_;

 private:
  Slots slots_;
};

/// The maximum of |got[i] - expected[i % n]| / scale[i % n], n = expected.size(). Elements n apart are computed in the same
/// way: different bits give an infinite error. NaN where a result is NaN.
double worst_error(const std::vector<double>& got, const std::vector<double>& expected, const std::vector<double>& scale) {
  const std::size_t n = expected.size();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i])) return got[i];
    if (i >= n && got[i] != got[i - n]) return HUGE_VAL;
    const double difference = std::abs(got[i] - expected[i % n]);
    if (difference != 0) worst = std::max(worst, difference / scale[i % n]);
  }
  return worst;
}

/// One step of a chain, rounded once to the type. The double fma is exact for 16-bit types, whose chains stay near 1.
double fma_step(DataType type, double x) {
  const double m = fma_multiplier(type);
  if (type == DataType::fp64) return std::fma(x, m, 1);
  if (type == DataType::fp32) return std::fma(static_cast<float>(x), static_cast<float>(m), 1.0F);
  double rounded = std::fma(x, m, 1);
  store(type, &rounded, 0, rounded);
  return load_as_double(type, &rounded, 0);
}

class FmaProbe final : public Probe {
 public:
  FmaProbe(const Setup& setup, const CeilingKernels& kernels, DataType type, ProbeTarget target, std::size_t steps)
      : Probe(setup, type, kernels.fma_layout(type, target).chains),
        kernels_(kernels),
        type_(type),
        target_(target),
        steps_(steps) {}
  void launch(Stream stream, int slot) override { kernels_.fma(type_, output(slot).data, steps_, target_, stream); }
  Verification verify(int slot) override {
    if (ends_.empty()) follow();
    const std::vector<double> u(ends_.size(), unit_roundoff(type_));
    return Verification::within(worst_error(results(slot), ends_, u), 0,
                                "end of each chain against the same steps on the host, in u");
  }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"steps per chain", std::to_string(steps_)},
            {"chains", std::to_string(kernels_.fma_layout(type_, target_).chains)}};
  }

 private:
  void follow() {
    for (std::size_t start = 0; start < kFmaStarts; ++start) ends_.push_back(fma_start(start));
    for (std::size_t step = 0; step < steps_; ++step) {
      for (double& x : ends_) x = fma_step(type_, x);
    }
  }
  const CeilingKernels& kernels_;
  DataType type_;
  ProbeTarget target_;
  std::size_t steps_;
  std::vector<double> ends_;  ///< of the chains from each start
};

class Exp2Probe final : public Probe {
 public:
  Exp2Probe(const Setup& setup, const CeilingKernels& kernels, ProbeTarget target, std::size_t steps)
      : Probe(setup, DataType::fp32, kernels.exp2_layout(target).chains), kernels_(kernels), target_(target), steps_(steps) {}
  void launch(Stream stream, int slot) override {
    kernels_.exp2(static_cast<float*>(output(slot).data), steps_, target_, stream);
  }
  Verification verify(int slot) override {
    // The instruction's relative error is 2^-22 (PTX ISA, ex2). At the fixed point x each step multiplies an error by
    // -x ln 2 = -0.444, so the total stays below 1 / (1 - 0.444) of that: 7.2 u.
    constexpr double bound = 8;
    const double u = unit_roundoff(DataType::fp32) * kExp2FixedPoint;
    return Verification::within(worst_error(results(slot), {kExp2FixedPoint}, {u}), bound,
                                "end of each chain against the fixed point of 2^-x, in u of that value");
  }

 private:
  const CeilingKernels& kernels_;
  ProbeTarget target_;
  std::size_t steps_;
};

DataType sink_type(DataType type) {
  return type == DataType::fp64 ? type : is_integer(type) ? DataType::int32 : DataType::fp32;
}

class TensorCoreProbe final : public Probe {
 public:
  TensorCoreProbe(const Setup& setup, const CeilingKernels& kernels, TensorProbe probe, ProbeTarget target,
                  std::size_t iterations)
      : Probe(setup, sink_type(probe.type), sinks(kernels.tensor_layout(probe, target))),
        kernels_(kernels),
        probe_(probe),
        target_(target),
        iterations_(iterations),
        layout_(kernels.tensor_layout(probe, target)),
        a_(operand(setup, layout_.m, 0)),
        b_(operand(setup, layout_.n, 1)) {}
  void launch(Stream stream, int slot) override {
    kernels_.tensor(probe_, output(slot).data, a_.get(), b_.get(), iterations_, target_, stream);
  }
  Verification verify(int slot) override {
    if (sums_.empty()) multiply();
    return Verification::within(worst_error(results(slot), sums_, scales_), bound(),
                                "sum of the elements of each lane, in u(accumulator) x root of the sum of squared terms");
  }
  std::vector<std::pair<std::string, std::string>> notes() const override {
    return {{"product per block",
             fmt::format("{} x {} x {}, {} times per iteration", layout_.m, layout_.n, layout_.k, layout_.depth)},
            {"iterations", std::to_string(iterations_)}};
  }

 private:
  static std::size_t sinks(const TensorLayout& layout) { return static_cast<std::size_t>(layout.blocks) * layout.warps * 32; }
  Memory operand(const Setup& setup, int rows, std::uint64_t array) {
    const std::size_t count = static_cast<std::size_t>(rows) * layout_.k;
    Memory data = device_.allocate(count * size_of(probe_.type));
    device_.fill(data.get(), probe_.type, count, {setup.data, setup.seed, array});
    return data;
  }
  std::vector<double> elements(const Memory& data, int rows) {
    std::vector<double> values(static_cast<std::size_t>(rows) * layout_.k);
    std::vector<std::byte> raw(values.size() * size_of(probe_.type));
    device_.to_host(raw.data(), data.get(), raw.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = load_as_double(probe_.type, raw.data(), i);
    return values;
  }

  /// Unit roundoff of the accumulator.
  double u() const {
    if (is_integer(probe_.type)) return 1;
    return probe_.type == DataType::fp8 ? tensor_core_unit(probe_.type) : unit_roundoff(probe_.accumulate);
  }

  /// An accumulation aligns instruction_k products with the running sum and truncates each at 2u of the largest (fp16 sums are
  /// rounded instead): an error of random sign, independent between values of k, but the same in each of `depth` rounds over
  /// the same data. The root of the sum of the squared terms bounds the truncated amount. Then the lane adds up its elements.
  /// The bound is eight standard deviations; integers are exact.
  double bound() const {
    if (is_integer(probe_.type)) return 0;
    const double cuts = probe_.accumulate == DataType::fp16 ? 1 : layout_.instruction_k + 1;
    const double rounds = static_cast<double>(layout_.k) / layout_.instruction_k;
    const double elements = static_cast<double>(layout_.m) * layout_.n / layout_.warps / 32;
    return 8 * (2 * std::sqrt(cuts * rounds) * layout_.depth + std::sqrt(elements));
  }

  /// Lane l has rows of row % 8 = l / 4 and columns of column % 8 / 2 = l % 4, so the
  /// columns of B can be added up before they are multiplied.
  void multiply() {
    const std::vector<double> a = elements(a_, layout_.m), b = elements(b_, layout_.n);
    const std::size_t k = layout_.k;
    std::vector<long double> columns(4 * k), squared_columns(4 * k);
    for (std::size_t i = 0; i < b.size(); ++i) {
      const std::size_t at = i / k % 8 / 2 * k + i % k;
      columns[at] += b[i];
      squared_columns[at] += b[i] * b[i];
    }
    std::vector<long double> sums(layout_.warps * 32), squares(layout_.warps * 32);
    const std::size_t warp_rows = layout_.m / layout_.warps;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::size_t row = i / k;
      for (std::size_t member = 0; member < 4; ++member) {
        const std::size_t lane = row / warp_rows * 32 + row % 8 * 4 + member;
        sums[lane] += a[i] * columns[member * k + i % k];
        squares[lane] += a[i] * a[i] * squared_columns[member * k + i % k];
      }
    }
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      sums_.push_back(static_cast<double>(layout_.depth * sums[lane]));
      scales_.push_back(u() * layout_.depth * std::sqrt(static_cast<double>(squares[lane])));
    }
  }

  const CeilingKernels& kernels_;
  TensorProbe probe_;
  ProbeTarget target_;
  std::size_t iterations_;
  TensorLayout layout_;
  Memory a_, b_;
  std::vector<double> sums_, scales_;  ///< of a block's lanes
};

/// Reads `bytes` of data and sums their 8-byte words into the sinks.
class ReadProbe final : public Probe {
 public:
  using Read = std::function<void(std::uint64_t* sinks, const void* data, Stream)>;
  /// Each word is read `times` times in a launch.
  ReadProbe(const Setup& setup, std::size_t sinks, std::size_t bytes, std::size_t times, Read read)
      : Probe(setup, DataType::int32, 2 * sinks),
        bytes_(bytes),
        times_(times),
        read_(std::move(read)),
        data_(device_.allocate(bytes)) {
    device_.fill(data_.get(), DataType::fp32, bytes / size_of(DataType::fp32), {setup.data, setup.seed, 0});
  }
  void launch(Stream stream, int slot) override { read_(static_cast<std::uint64_t*>(output(slot).data), data_.get(), stream); }
  Verification verify(int slot) override {
    const Output sinks = output(slot);
    const std::uint64_t got = sum_of_words(sinks.data, sinks.count * size_of(sinks.type));
    const std::uint64_t expected = times_ * sum_of_words(data_.get(), bytes_);
    return Verification::within(got == expected ? 0 : 1, 0, "sum of all words read, modulo 2^64: 0 equal, 1 different");
  }
  std::vector<std::pair<std::string, std::string>> notes() const override { return {{"times read", std::to_string(times_)}}; }

 private:
  std::uint64_t sum_of_words(const void* data, std::size_t bytes) {
    std::vector<std::uint64_t> words(bytes / sizeof(std::uint64_t));
    device_.to_host(words.data(), data, bytes);
    std::uint64_t sum = 0;
    for (std::uint64_t word : words) sum += word;
    return sum;
  }
  std::size_t bytes_, times_;
  Read read_;
  Memory data_;
};

class LaunchProbe final : public Prepared {
 public:
  explicit LaunchProbe(const CeilingKernels& kernels) : kernels_(kernels) {}
  void launch(Stream stream, int /*slot*/) override { kernels_.empty(stream); }
  Verification verify(int /*slot*/) override { return Verification::nothing("an empty kernel writes nothing"); }

 private:
  const CeilingKernels& kernels_;
};

/// A case that demands `amount` of one resource. Warm: its data is small, or belongs into a cache.
Case probe_case(std::string operation, DataType type, Shape shape, const Resource& resource, double amount) {
  Case c;
  c.family = "ceilings";
  c.operation = std::move(operation);
  c.type = type;
  c.shape = std::move(shape);
  c.work.phases = {{{resource, amount}}};
  c.raises = resource;
  c.protocol.cache = Cache::warm;
  return c;
}

const Resource& fma_resource(DataType type, bool one_core) {
  switch (type) {
    case DataType::fp64:
      return one_core ? resource::fp64_fma_one_core : resource::fp64_fma;
    case DataType::fp32:
      return one_core ? resource::fp32_fma_one_core : resource::fp32_fma;
    case DataType::fp16:
      return resource::fp16_fma;
    default:
      return resource::bf16_fma;
  }
}

const Resource& tensor_resource(DataType type, DataType accumulate) {
  switch (type) {
    case DataType::fp64:
      return resource::fp64_tensor;
    case DataType::tf32:
      return resource::tf32_tensor;
    case DataType::fp16:
      return accumulate == DataType::fp16 ? resource::fp16_tensor_fp16 : resource::fp16_tensor;
    case DataType::bf16:
      return resource::bf16_tensor;
    case DataType::fp8:
      return resource::fp8_tensor;
    default:
      return resource::int8_tensor;
  }
}

class Lister {
 public:
  Lister(const Listing& listing, const CeilingKernels& kernels)
      : listing_(listing),
        device_(listing.device),
        kernels_(kernels),
        target_{device_.compute_capability, std::max(device_.multiprocessors, 1)},
        list_(listing_) {
    listing_.cache.reset();  // --cache must not move a roof
  }

  std::vector<Group> list() && {
    if (device_.backend == Backend::cuda) {
      for (DataType type : {DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16}) fma(type, target_, {});
      for (TensorInstruction instruction : {TensorInstruction::mma, TensorInstruction::wgmma}) tensor(instruction);
      library_products();
      exp2();
      shared_read();
      l2_reads();
      launch("stream", Issue::gate, resource::stream_launch);
      launch("graph", Issue::graph, resource::graph_launch);
    } else {
      for (DataType type : {DataType::fp64, DataType::fp32}) {
        fma(type, target_, {{"cores", "all"}});
        fma(type, {0, 1}, {{"cores", "one"}});
      }
      cpu_cache_reads();
    }
    for (StreamOp op : {StreamOp::read, StreamOp::write, StreamOp::copy, StreamOp::triad}) dram(op);
    return list_.take();
  }

 private:
  void add(Case c) { list_.add(std::move(c)); }

  /// Steps or repeats per launch, from their number per clock.
  std::size_t count_for(double per_clock, std::size_t multiple = 1) const {
    const double clock_hz = device_.highest_clock_hz.value_or(device_.backend == Backend::cuda ? 1.5e9 : 3e9);
    const double seconds = listing_.short_probes ? kLaunchSeconds / 100 : kLaunchSeconds;
    const auto multiples = static_cast<std::size_t>(seconds * clock_hz * per_clock / static_cast<double>(multiple));
    return std::max<std::size_t>(multiples, 1) * multiple;
  }

  void fma(DataType type, ProbeTarget target, Shape shape) {
    const ChainLayout layout = kernels_.fma_layout(type, target);
    const std::size_t steps = count_for(layout.steps_per_clock, kStepMultiple);
    const bool one_core = device_.backend == Backend::cpu && shape.front().second == "one";
    Case c = probe_case("fma", type, shape, fma_resource(type, one_core), 2.0 * layout.chains * steps);
    c.slot_bytes = aligned(layout.chains * size_of(type));
    if (layout.chains == 0) c.unsupported = "the processor has no fused multiply-add in this type";
    c.prepare = [&kernels = kernels_, type, target, steps](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<FmaProbe>(setup, kernels, type, target, steps);
    };
    add(std::move(c));
  }

  void tensor(TensorInstruction instruction) {
    using enum DataType;
    const bool wgmma = instruction == TensorInstruction::wgmma;
    for (const auto& [type, accumulate] :
         {std::pair{fp64, fp64}, std::pair{tf32, fp32}, std::pair{fp16, fp32}, std::pair{fp16, fp16}, std::pair{bf16, fp32},
          std::pair{fp8, fp32}, std::pair{int8, int32}}) {
      if (wgmma && type == fp64) continue;
      const TensorProbe probe{instruction, type, accumulate};
      const TensorLayout layout = kernels_.tensor_layout(probe, target_);
      const std::size_t iterations = count_for(layout.iterations_per_clock);
      const double operations = 2.0 * layout.m * layout.n * layout.k * layout.depth * layout.blocks * iterations;
      Case c = probe_case(wgmma ? "wgmma" : "mma", type, {{"accumulate", std::string(name(accumulate))}},
                          tensor_resource(type, accumulate), operations);
      c.slot_bytes = aligned(static_cast<std::size_t>(layout.blocks) * layout.warps * 32 * size_of(sink_type(type)));
      c.shared_bytes = static_cast<std::size_t>(layout.m + layout.n) * layout.k * size_of(type);
      if (layout.blocks == 0) {
        c.unsupported = fmt::format("compute capability {}.{} has no {} for {}", target_.compute_capability / 10,
                                    target_.compute_capability % 10, c.operation, name(type));
      }
      c.prepare = [&kernels = kernels_, probe, target = target_, iterations](const Setup& setup) -> std::unique_ptr<Prepared> {
        return std::make_unique<TensorCoreProbe>(setup, kernels, probe, target, iterations);
      };
      add(std::move(c));
    }
  }

  /// One product per type by the fastest algorithm of the library, large enough that neither its tail nor the memory matters.
  void library_products() {
    using enum DataType;
    const std::int64_t size = listing_.short_probes ? 256 : 8192;
    for (DataType type : {fp64, tf32, fp16, bf16, fp8, int8}) {
      // Without fp64 tensor cores the product would load another resource, and take a second.
      if (type == fp64 && kernels_.tensor_layout({TensorInstruction::mma, fp64, fp64}, target_).blocks == 0) continue;
      Case c = gemm_case(listing_, type, size, size, size, "tn", "tuned");
      c.family = "ceilings";
      c.operation = "gemm";
      c.raises = tensor_resource(type, fp32);
      c.work.phases = {{{*c.raises, 2.0 * size * size * size}}};
      add(std::move(c));
    }
  }

  void exp2() {
    const ChainLayout layout = kernels_.exp2_layout(target_);
    const std::size_t steps = count_for(layout.steps_per_clock, kStepMultiple);
    Case c = probe_case("exp2", DataType::fp32, {}, resource::exp, static_cast<double>(layout.chains) * steps);
    c.slot_bytes = aligned(layout.chains * sizeof(float));
    c.prepare = [&kernels = kernels_, target = target_, steps](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<Exp2Probe>(setup, kernels, target, steps);
    };
    add(std::move(c));
  }

  /// A launch reads each word `times` times; the amount is bytes x times.
  void read(std::string operation, Shape shape, const Resource& resource, std::size_t bytes, std::size_t sinks,
            std::size_t times, const ReadProbe::Read& read) {
    shape.emplace_back("bytes", std::to_string(bytes));
    Case c = probe_case(std::move(operation), DataType::fp32, std::move(shape), resource, static_cast<double>(bytes) * times);
    c.slot_bytes = aligned(sinks * sizeof(std::uint64_t));
    c.shared_bytes = bytes;
    c.prepare = [bytes, sinks, times, read](const Setup& setup) -> std::unique_ptr<Prepared> {
      return std::make_unique<ReadProbe>(setup, sinks, bytes, times, read);
    };
    add(std::move(c));
  }

  void shared_read() {
    constexpr double bytes_per_clock = 128;  // per SM
    const std::size_t bytes = kernels_.shared_read_bytes();
    const std::size_t repeats = count_for(bytes_per_clock / bytes);
    read("shared_read", {}, resource::shared, bytes, kernels_.shared_read_sinks(target_), repeats * target_.processors,
         [&kernels = kernels_, repeats, target = target_](std::uint64_t* sinks, const void* data, Stream stream) {
           kernels.shared_read(sinks, data, repeats, target, stream);
         });
  }

  /// Each processor reads `part` bytes.
  void cache_read(const std::string& level, const Resource& resource, std::size_t part, double bytes_per_clock) {
    constexpr std::size_t granule = 16384;
    part = std::max(part / granule, std::size_t{1}) * granule;
    const std::size_t repeats = count_for(bytes_per_clock / part), bytes = part * target_.processors;
    read("cache_read", {{"level", level}}, resource, bytes, kernels_.cache_read_sinks(target_), repeats,
         [&kernels = kernels_, bytes, repeats, target = target_](std::uint64_t* sinks, const void* data, Stream stream) {
           kernels.cache_read(sinks, data, bytes, repeats, target, stream);
         });
  }

  void l2_reads() {
    constexpr double bytes_per_clock = 48;  // per SM, about
    const std::size_t total = device_.last_level_cache_bytes();
    std::vector<std::size_t> sizes = {total / 4, total / 2};
    // One half of a large L2 is nearer to an SM than the other; 24 MB is the size that published measurements use.
    if (24'000'000 < total * 3 / 4) sizes.push_back(24'000'000);
    for (std::size_t bytes : sizes) cache_read("l2", resource::l2, bytes / target_.processors, bytes_per_clock);
  }

  /// Every core reads its own set: half of its first level; for each further level, the geometric mean of its shares of the
  /// level before and of this one.
  void cpu_cache_reads() {
    constexpr double bytes_per_clock[] = {64, 32, 16};
    const Resource* resources[] = {&resource::l1, &resource::l2, &resource::l3};
    std::size_t before = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(device_.caches.size(), 3); ++i) {
      const CacheLevel& level = device_.caches[i];
      const std::size_t share = std::min(level.instance_bytes, level.total_bytes / target_.processors);
      const auto set = static_cast<std::size_t>(std::sqrt(static_cast<double>(before) * share));
      if (share < 4 * before) continue;
      cache_read(level.name, *resources[i], before ? set : share / 2, bytes_per_clock[i]);
      before = share;
    }
  }

  void dram(StreamOp op) {
    // On a GPU long enough to hide the launch.
    const std::size_t least = device_.backend == Backend::cuda ? 4096 * kMiB : 64 * kMiB;
    const std::size_t array = listing_.short_probes ? kMiB : std::max(4 * device_.last_level_cache_bytes(), least);
    const std::size_t wanted = array_count(op) * array;
    const auto allowed = static_cast<std::size_t>(0.9 * listing_.memory_fraction * device_.free_bytes);
    Case c = stream_case(device_, op, DataType::fp32, std::min(wanted, allowed) / kMiB * kMiB, Cache::cold);
    c.family = "ceilings";
    c.operation = "dram_" + c.operation;
    c.raises = resource::dram;
    Phase& demands = c.work.phases.front();
    std::erase_if(demands, [](const Demand& demand) { return !(demand.resource == resource::dram); });
    add(std::move(c));
  }

  void launch(const std::string& path, Issue issue, const Resource& resource) {
    Case c = probe_case("launch", DataType::fp32, {{"issue", path}}, resource, 1);
    c.protocol.issue = issue;
    c.prepare = [&kernels = kernels_](const Setup&) -> std::unique_ptr<Prepared> {
      return std::make_unique<LaunchProbe>(kernels);
    };
    add(std::move(c));
  }

  Listing listing_;
  const DeviceInfo& device_;
  const CeilingKernels& kernels_;
  ProbeTarget target_;
  CaseList list_;
};

}  // namespace

std::vector<Group> ceilings(const Listing& listing) {
  const CeilingKernels* kernels = select(listing.device.backend, &cuda::ceilings, &cpu::ceilings);
  return kernels ? ceilings(listing, *kernels) : std::vector<Group>{};
}

std::vector<Group> ceilings(const Listing& listing, const CeilingKernels& kernels) { return Lister(listing, kernels).list(); }

}  // namespace roofmark
