// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/epilogue_check.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "bench/support/rounding.hpp"
#include "harness/device/cpu_device.hpp"

namespace roofmark {
namespace {

using Status = Verification::Status;

double activated(GemmEpilogue epilogue, double x) {
  if (has_relu(epilogue)) return std::max(x, 0.0);
  return has_gelu(epilogue) ? x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) : x;
}

double rounded(DataType type, double value) {
  double stored = 0;  // of any type, which is not wider
  store(type, &stored, 0, value);
  return load_as_double(type, &stored, 0);
}

/// Truncated to the 14 bits that tensor cores may keep.
float in_few_bits(float sum) {
  int exponent = 0;
  const float fraction = std::frexp(sum, &exponent);
  return std::ldexp(std::trunc(std::ldexp(fraction, 14)), exponent - 14);
}

/// By plain loops. What it does instead of what the problem asks for may be changed.
class Loops final : public GemmPlan {
 public:
  explicit Loops(const GemmProblem& problem) : epilogue(problem.epilogue), alpha(problem.alpha), problem_(problem) {}
  const std::vector<std::string>& algorithms() const override {
    static const std::vector<std::string> only = {"loops"};
    return only;
  }
  int output_roundings(int) const override { return 1; }
  int roundings_before_epilogue() const override { return kernels - 1; }
  void launch(int, const GemmOperands& operands, void* d, void*, Stream) const override {
    const std::int64_t m = problem_.m, n = problem_.n, k = problem_.k;
    for (std::int64_t i = 0; i < problem_.batch; ++i) {
      const auto operand = [&, type = problem_.type](const void* data, std::int64_t index) {
        return static_cast<float>(load_as_double(type, data, static_cast<std::size_t>(index)));
      };
      const std::int64_t first_bias = (i + bias_of_next) % problem_.batch * m;
      for (std::int64_t column = 0; column < n; ++column) {
        for (std::int64_t row = 0; row < m; ++row) {
          float sum = 0, first_half = 0;
          for (std::int64_t l = 0; l < k; ++l) {
            if (sums_in_few_bits(problem_.type) && l % 32 == 0) sum = in_few_bits(sum);
            if (column < split_columns && l == k / 2) first_half = std::exchange(sum, 0.0F);
            sum += operand(operands.a, i * m * k + (transposes_a(problem_.layout) ? row * k + l : l * m + row)) *
                   operand(operands.b, i * k * n + (transposes_b(problem_.layout) ? l * n + column : column * k + l));
          }
          sum += first_half;
          sum *= 1 + sum_error * ((row + column) % 2 == 0 ? 1.0F : -1.0F);
          const double bias =
              operands.bias ? load_as_double(problem_.bias_type(), operands.bias, static_cast<std::size_t>(first_bias + row))
                            : 0;
          double x = alpha * static_cast<double>(sum);
          if (kernels > 2) x = rounded(problem_.output, x);
          if (has_bias(epilogue)) x += bias;
          if (kernels > 1) x = rounded(problem_.output, x);
          store(problem_.output, d, static_cast<std::size_t>((i * n + column) * m + row),
                activated(epilogue, x) + activation_error * std::fabs(x));
        }
      }
    }
  }

  GemmEpilogue epilogue;
  double alpha;
  std::int64_t bias_of_next = 0;
  float sum_error = 0;          ///< relative to the sum, of either sign
  double activation_error = 0;  ///< relative to what the activation reads
  int kernels = 1;  ///< 2: D is rounded to its type before the activation, 3: before the bias and before the activation
  std::int64_t split_columns = 0;  ///< the first columns, whose sums are added in two parts

 private:
  GemmProblem problem_;
};

const GemmKernels kLoops = {"loops", 0, cpu::gemm.version,
                            [](const GemmProblem& problem, int, const GemmOperands&) -> std::unique_ptr<GemmPlan> {
                              return std::make_unique<Loops>(problem);
                            }};

/// On the host, whose BLAS makes the product without the epilogue where it has the type.
class Fused {
 public:
  explicit Fused(const GemmProblem& problem, Distribution data = Distribution::normal, int kernels = 1)
      : loops(problem),
        problem_(problem),
        device_(open_cpu_device()),
        a_(filled(problem.batch * problem.a_count(), problem.type, {data, 3, 0})),
        b_(filled(problem.batch * problem.b_count(), problem.type, {data, 3, 1})),
        bias_(filled(problem.batch * problem.m, problem.bias_type(), {data, 3, 2})),
        d_(device_->allocate(d_count() * size_of(problem.output))),
        check_(*device_, problem, {data, 3, 0}, {data, 3, 1}, problem.type == DataType::fp32 ? cpu::gemm : kLoops, loops, 0,
               operands(), nullptr) {
    loops.kernels = kernels;
    device_->poison(d_.get(), d_count() * size_of(problem_.output));
  }

  void multiply() { loops.launch(0, operands(), d_.get(), nullptr, nullptr); }
  double at(std::int64_t i) const { return load_as_double(problem_.output, d_.get(), static_cast<std::size_t>(i)); }
  void set(std::int64_t i, double value) { store(problem_.output, d_.get(), static_cast<std::size_t>(i), value); }

  Verification verify() { return check_.verify(operands(), d_.get()); }

  Loops loops;

 private:
  std::size_t d_count() const { return static_cast<std::size_t>(problem_.batch * problem_.d_count()); }
  /// The bias is there, wanted or not.
  GemmOperands operands() const { return {a_.get(), b_.get(), bias_.get()}; }
  Memory filled(std::int64_t elements, DataType type, const Fill& fill) {
    const auto count = static_cast<std::size_t>(elements);
    Memory memory = device_->allocate(count * size_of(type));
    device_->fill(memory.get(), type, count, fill);
    return memory;
  }

  GemmProblem problem_;
  std::unique_ptr<Device> device_;
  Memory a_, b_, bias_, d_;
  EpilogueCheck check_;
};

GemmProblem problem_of(GemmEpilogue epilogue, DataType output, GemmLayout layout = GemmLayout::tn, std::int64_t batch = 1) {
  return {65, 40, 60, DataType::fp32, layout, batch, output, epilogue, 0.125};
}

constexpr DataType kOutputs[] = {DataType::fp32, DataType::fp16, DataType::bf16, DataType::fp8};

TEST(EpilogueCheck, PassesARightOneOfEveryTypeAndLayout) {
  for (GemmEpilogue epilogue : kGemmEpilogues) {
    for (DataType output : kOutputs) {
      for (GemmLayout layout : kGemmLayouts) {
        for (std::int64_t batch : {1, 3}) {
          SCOPED_TRACE(testing::Message() << name(epilogue) << " " << name(output) << " " << name(layout) << " " << batch);
          Fused fused(problem_of(epilogue, output, layout, batch));
          EXPECT_EQ(fused.verify().status, Status::failed) << "poisoned";
          fused.multiply();
          const Verification found = fused.verify();
          EXPECT_EQ(found.status, Status::passed) << found.detail << ": " << found.error;
          EXPECT_GT(found.error, output == DataType::fp32 ? 0 : 0.3) << "too much is allowed";
        }
      }
    }
  }
}

TEST(EpilogueCheck, PassesOtherData) {
  for (GemmEpilogue epilogue : kGemmEpilogues) {
    for (Distribution data : {Distribution::uniform, Distribution::zeros}) {
      Fused fused(problem_of(epilogue, DataType::bf16), data);
      fused.multiply();
      const Verification found = fused.verify();
      EXPECT_EQ(found.status, Status::passed) << name(epilogue) << ": " << found.detail;
    }
  }
}

TEST(EpilogueCheck, FindsEveryOtherEpilogue) {
  for (GemmEpilogue right : kGemmEpilogues) {
    for (GemmEpilogue wrong : kGemmEpilogues) {
      for (DataType output : kOutputs) {
        if (wrong == right) continue;
        Fused fused(problem_of(right, output));
        fused.loops.epilogue = wrong;
        fused.multiply();
        EXPECT_EQ(fused.verify().status, Status::failed)
            << name(wrong) << " in place of " << name(right) << " in " << name(output);
      }
    }
  }
}

TEST(EpilogueCheck, FindsAnotherAlphaAndTheBiasOfAnotherProduct) {
  for (GemmEpilogue epilogue : kGemmEpilogues) {
    const GemmProblem problem = problem_of(epilogue, DataType::fp8, GemmLayout::nt, 2);
    Fused doubled(problem), shifted(problem);
    doubled.loops.alpha *= 2;
    doubled.multiply();
    EXPECT_EQ(doubled.verify().status, Status::failed) << name(epilogue);
    shifted.loops.bias_of_next = 1;
    shifted.multiply();
    EXPECT_EQ(shifted.verify().status, has_bias(epilogue) ? Status::failed : Status::passed) << name(epilogue);
  }
}

// Where long sums in few bits may be off by more than the two differ.
TEST(EpilogueCheck, FindsAnotherActivationThatIsRightInThisD) {
  for (DataType output : kOutputs) {
    for (GemmLayout layout : kGemmLayouts) {
      Fused fused(problem_of(GemmEpilogue::gelu, output, layout, 2));
      fused.multiply();
      fused.loops.epilogue = GemmEpilogue::relu;
      const Verification found = fused.verify();
      EXPECT_EQ(found.status, Status::failed) << found.detail;
      EXPECT_THAT(found.detail, testing::HasSubstr("with one term in each sum"));
    }
  }
}

TEST(EpilogueCheck, FindsOneWrongElementWhereverItIs) {
  for (DataType output : kOutputs) {
    const GemmProblem problem = problem_of(GemmEpilogue::bias_gelu, output, GemmLayout::tn, 2);
    Fused fused(problem);
    fused.multiply();
    const std::int64_t elements = problem.batch * problem.d_count();
    for (std::int64_t i : {std::int64_t{0}, std::int64_t{137}, elements / 2, elements - 1}) {
      const double right = fused.at(i);
      // Two roundings of the type, and more than the fast tanh may be off.
      const double off = std::max(4 * unit_roundoff(output) * std::fabs(right), 0.02);
      for (const double wrong : {right + off, right - off, std::nan("")}) {
        fused.set(i, wrong);
        EXPECT_EQ(fused.verify().status, Status::failed) << name(output) << " element " << i << ": " << right << ", " << wrong;
      }
      fused.set(i, right);
    }
    EXPECT_EQ(fused.verify().status, Status::passed);
  }
}

// Near 0, where fp8 and fp16 are evenly spaced, and the least error before the last rounding moves some elements by one step
// more.
TEST(EpilogueCheck, PassesSmallElementsThatAreRoundedTheOtherWay) {
  for (DataType output : {DataType::fp16, DataType::fp8}) {
    for (int kernels : {1, 2}) {
      const GemmProblem problem = {256, 256, 16, DataType::fp32, GemmLayout::tn, 1, output, GemmEpilogue::gelu, 0.25};
      Fused fused(problem, Distribution::normal, kernels);
      fused.loops.activation_error = 0x1p-13;
      fused.multiply();
      const Verification found = fused.verify();
      EXPECT_EQ(found.status, Status::passed) << name(output) << ", " << kernels << ": " << found.detail;
    }
  }
}

TEST(EpilogueCheck, FindsOneWrongElementOfASumThatIsRoundedBeforeItsActivation) {
  for (DataType output : {DataType::fp16, DataType::bf16}) {
    for (int kernels : {2, 3}) {
      Fused fused(problem_of(GemmEpilogue::bias_gelu, output), Distribution::normal, kernels);
      fused.multiply();
      EXPECT_EQ(fused.verify().status, Status::passed) << fused.verify().detail;
      fused.set(137, fused.at(137) + std::max(8 * unit_roundoff(output) * std::fabs(fused.at(137)), 0.02));
      EXPECT_EQ(fused.verify().status, Status::failed) << fused.verify().detail;
    }
  }
}

TEST(EpilogueCheck, OfSumsInFewBitsFindsWhatTheyCouldBeOffBy) {
  for (DataType output : {DataType::bf16, DataType::fp8}) {
    for (GemmEpilogue epilogue : {GemmEpilogue::none, GemmEpilogue::bias_gelu, GemmEpilogue::relu}) {
      SCOPED_TRACE(testing::Message() << name(epilogue) << " " << name(output));
      const GemmProblem problem = {32, 96, 2048, DataType::fp8, GemmLayout::tn, 1, output, epilogue, 0x1p-5};
      Fused fused(problem);
      EXPECT_EQ(fused.verify().status, Status::failed) << "poisoned";
      fused.multiply();
      const Verification exact = fused.verify();
      EXPECT_EQ(exact.status, Status::passed) << exact.detail;
      fused.loops.sum_error = 0.01F;
      fused.multiply();
      fused.loops.sum_error = 0;
      const Verification rounded = fused.verify();
      EXPECT_EQ(rounded.status, Status::passed) << rounded.detail;
      std::int64_t large = 0;
      while (std::fabs(fused.at(large)) < 2) ++large;
      fused.set(large, 0);
      EXPECT_EQ(fused.verify().status, Status::failed) << "one element of 2 is 0: " << fused.verify().detail;
      for (std::int64_t i = 0; i < problem.d_count(); ++i) fused.set(i, 0);
      EXPECT_EQ(fused.verify().status, Status::failed) << "all are 0";
    }
  }
}

// As an algorithm does that splits k in some tiles of D: elsewhere the sums are bit for bit those of the product without the
// epilogue, and only D in fp32 shows the others.
TEST(EpilogueCheck, OfSumsInFewBitsPassesSomeThatAreAddedInAnotherOrder) {
  for (GemmEpilogue epilogue : {GemmEpilogue::bias, GemmEpilogue::relu, GemmEpilogue::bias_gelu}) {
    SCOPED_TRACE(name(epilogue));
    Fused fused({32, 96, 2048, DataType::fp8, GemmLayout::tn, 1, DataType::fp32, epilogue, 0x1p-5});
    fused.loops.split_columns = 24;
    fused.multiply();
    fused.loops.split_columns = 0;
    const Verification found = fused.verify();
    EXPECT_EQ(found.status, Status::passed) << found.detail;
  }
}

/// The library's product without the epilogue, of which it leaves out the last element.
class ShortPlan final : public GemmPlan {
 public:
  explicit ShortPlan(const GemmProblem& problem) : problem_(problem), whole_(cpu::gemm.plan(problem, 1, {})) {}
  const std::vector<std::string>& algorithms() const override { return whole_->algorithms(); }
  int output_roundings(int) const override { return 1; }
  void launch(int, const GemmOperands& operands, void* d, void*, Stream) const override {
    whole_->launch(0, operands, d, nullptr, nullptr);
    static_cast<float*>(d)[problem_.d_count() - 1] = 0;
  }

 private:
  GemmProblem problem_;
  std::unique_ptr<GemmPlan> whole_;
};

TEST(EpilogueCheck, ChecksTheProductThatItComparesWith) {
  const GemmKernels kernels = {"short", 0, cpu::gemm.version,
                               [](const GemmProblem& problem, int, const GemmOperands&) -> std::unique_ptr<GemmPlan> {
                                 return std::make_unique<ShortPlan>(problem);
                               }};
  const std::unique_ptr<Device> device = open_cpu_device();
  const GemmProblem problem = problem_of(GemmEpilogue::relu, DataType::fp32);
  const Fill of_a{Distribution::normal, 3, 0}, of_b{Distribution::normal, 3, 1};
  std::vector<float> a(static_cast<std::size_t>(problem.a_count())), b(static_cast<std::size_t>(problem.b_count())),
      d(static_cast<std::size_t>(problem.d_count()));
  device->fill(a.data(), DataType::fp32, a.size(), of_a);
  device->fill(b.data(), DataType::fp32, b.size(), of_b);
  const GemmOperands operands{a.data(), b.data()};
  const Loops loops(problem);
  loops.launch(0, operands, d.data(), nullptr, nullptr);
  EpilogueCheck check(*device, problem, of_a, of_b, kernels, loops, 0, operands, nullptr);
  const Verification found = check.verify(operands, d.data());
  EXPECT_EQ(found.status, Status::failed);
  EXPECT_THAT(found.detail, testing::StartsWith("the product without the epilogue"));
}

}  // namespace
}  // namespace roofmark
