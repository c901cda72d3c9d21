// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/ceiling_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/support/rounding.hpp"

namespace roofmark::ceilings {
namespace {

/// A launch writes its sink and no other memory.
class Probe : public Prepared {
 public:
  Probe(const Setup& setup, const SlotLayout& sinks) : device_(setup.device), slots_(setup, sinks) {}
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
      : Probe(setup, one_output(type, kernels.fma_layout(type, target).chains)),
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
      : Probe(setup, one_output(DataType::fp32, kernels.exp2_layout(target).chains)),
        kernels_(kernels),
        target_(target),
        steps_(steps) {}
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

/// One per lane.
std::size_t sinks(const TensorLayout& layout) { return static_cast<std::size_t>(layout.blocks) * layout.warps * 32; }

class TensorCoreProbe final : public Probe {
 public:
  TensorCoreProbe(const Setup& setup, const CeilingKernels& kernels, TensorProbe probe, ProbeTarget target,
                  std::size_t iterations)
      : Probe(setup, tensor_sinks(probe.type, kernels.tensor_layout(probe, target))),
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
  Memory operand(const Setup& setup, int rows, std::uint64_t array) {
    const SlotArray matrix = SlotArray::matrix(probe_.type, rows, layout_.k, array);
    Memory data = device_.allocate(matrix.bytes());
    fill(device_, data.get(), matrix, setup);
    return data;
  }
  std::vector<double> elements(const Memory& data, int rows) {
    const SlotArray matrix = SlotArray::matrix(probe_.type, rows, layout_.k, 0);
    std::vector<double> values(matrix.count);
    std::vector<std::byte> raw(matrix.bytes());
    device_.to_host(raw.data(), data.get(), raw.size());
    const auto read = [&](const auto& value) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = value(i);
    };
    if (is_block_scaled(probe_.type)) {
      with_block_scaled_type(probe_.type, [&]<DataType kType>() {
        read([&](std::size_t i) {
          return block_scaled_value<kType>(raw.data(), matrix.block_scaled(), i / layout_.k, i % layout_.k);
        });
      });
    } else {
      read([&](std::size_t i) { return load_as_double(probe_.type, raw.data(), i); });
    }
    return values;
  }

  /// Unit roundoff of the accumulator.
  double u() const {
    if (is_integer(probe_.type)) return 1;
    return sums_in_few_bits(probe_.type) ? tensor_core_unit(probe_.type) : unit_roundoff(probe_.accumulate);
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

class ReadProbe final : public Probe {
 public:
  ReadProbe(const Setup& setup, std::size_t sinks, std::size_t bytes, std::size_t times, ProbeRead read)
      : Probe(setup, read_sinks(sinks)), bytes_(bytes), times_(times), read_(std::move(read)), data_(device_.allocate(bytes)) {
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
  ProbeRead read_;
  Memory data_;
};

class StoreProbe final : public Probe {
 public:
  StoreProbe(const Setup& setup, std::size_t written, bool reads, std::size_t times, ProbeStore store)
      : Probe(setup, written_words(written)), bytes_(written), times_(times), store_(std::move(store)) {
    if (!reads) return;
    from_ = device_.allocate(written);
    device_.fill(from_.get(), DataType::fp32, written / size_of(DataType::fp32), {setup.data, setup.seed, 0});
  }
  void launch(Stream stream, int slot) override {
    store_(static_cast<std::uint64_t*>(output(slot).data), static_cast<const std::uint64_t*>(from_.get()), stream);
  }
  Verification verify(int slot) override {
    std::vector<std::uint64_t> got(bytes_ / sizeof(std::uint64_t)), expected(got.size());
    device_.to_host(got.data(), output(slot).data, bytes_);
    if (from_) {
      device_.to_host(expected.data(), from_.get(), bytes_);
    } else {
      std::iota(expected.begin(), expected.end(), std::uint64_t{0});
    }
    std::size_t different = 0;
    for (std::size_t w = 0; w < got.size(); ++w) different += got[w] != expected[w] + (times_ - 1);
    return Verification::within(static_cast<double>(different), 0, "words that differ from what the last pass stores");
  }
  std::vector<std::pair<std::string, std::string>> notes() const override { return {{"passes", std::to_string(times_)}}; }

 private:
  std::size_t bytes_, times_;
  ProbeStore store_;
  Memory from_;
};

class LaunchProbe final : public Prepared {
 public:
  explicit LaunchProbe(const CeilingKernels& kernels) : kernels_(kernels) {}
  void launch(Stream stream, int /*slot*/) override { kernels_.empty(stream); }
  Verification verify(int /*slot*/) override { return Verification::nothing("an empty kernel writes nothing"); }

 private:
  const CeilingKernels& kernels_;
};

}  // namespace

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
    case DataType::mxfp8:
      return resource::mxfp8_tensor;
    case DataType::nvfp4:
      return resource::fp4_tensor;
    default:
      return resource::int8_tensor;
  }
}

std::unique_ptr<Prepared> fma_probe(const Setup& setup, const CeilingKernels& kernels, DataType type, ProbeTarget target,
                                    std::size_t steps) {
  return std::make_unique<FmaProbe>(setup, kernels, type, target, steps);
}

std::unique_ptr<Prepared> exp2_probe(const Setup& setup, const CeilingKernels& kernels, ProbeTarget target, std::size_t steps) {
  return std::make_unique<Exp2Probe>(setup, kernels, target, steps);
}

std::unique_ptr<Prepared> tensor_probe(const Setup& setup, const CeilingKernels& kernels, TensorProbe probe, ProbeTarget target,
                                       std::size_t iterations) {
  return std::make_unique<TensorCoreProbe>(setup, kernels, probe, target, iterations);
}

SlotLayout tensor_sinks(DataType type, const TensorLayout& layout) { return one_output(sink_type(type), sinks(layout)); }

SlotLayout read_sinks(std::size_t sinks) { return one_output(DataType::int32, 2 * sinks); }

SlotLayout written_words(std::size_t bytes) { return one_output(DataType::int32, bytes / size_of(DataType::int32)); }

std::unique_ptr<Prepared> read_probe(const Setup& setup, std::size_t sinks, std::size_t bytes, std::size_t times,
                                     ProbeRead read) {
  return std::make_unique<ReadProbe>(setup, sinks, bytes, times, std::move(read));
}

std::unique_ptr<Prepared> store_probe(const Setup& setup, std::size_t written, bool reads, std::size_t times,
                                      const ProbeStore& store) {
  return std::make_unique<StoreProbe>(setup, written, reads, times, store);
}

std::unique_ptr<Prepared> launch_probe(const CeilingKernels& kernels) { return std::make_unique<LaunchProbe>(kernels); }

}  // namespace roofmark::ceilings
