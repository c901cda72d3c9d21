// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/prepared_gemm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "bench/families/separate_activation.hpp"
#include "bench/support/epilogue_check.hpp"
#include "bench/support/product_check.hpp"
#include "bench/support/scale_check.hpp"
#include "kernels/base/check.hpp"

namespace roofmark::gemm {
namespace {

constexpr int kMostAlgorithms = 8;
constexpr std::size_t kA = 0, kB = 1, kD = 2, kBias = 3;

/// Where checksums of D say too little, or nothing.
bool is_checked_by_element(const GemmProblem& p) { return p.epilogue != GemmEpilogue::none || p.output == DataType::fp8; }
/// An activation hides what one term is.
bool shows_scales(const GemmProblem& p) { return is_block_scaled(p.type_of_a()) && !has_activation(p.epilogue); }

std::size_t first_columns_bytes(const GemmProblem& p) {
  return p.imbalance == 1 ? 0 : static_cast<std::size_t>(p.batch + 1) * sizeof(std::int32_t);
}
/// GemmOperands::first_columns of an uneven batch; null of an even one.
Memory first_columns(Device& device, const GemmProblem& p) {
  if (p.imbalance == 1) return {};
  std::vector<std::int32_t> first;
  for (std::int64_t i = 0; i < p.batch; ++i) first.push_back(static_cast<std::int32_t>(p.first_column(i)));
  first.push_back(static_cast<std::int32_t>(p.batch * p.n));
  Memory on_device = device.allocate(first_columns_bytes(p));
  device.to_device(on_device.get(), first.data(), first_columns_bytes(p));
  return on_device;
}

/// The product that D then is.
GemmProblem after_reset_and_launch(GemmProblem problem) {
  if (std::exchange(problem.accumulates, false)) problem.alpha *= 2;
  return problem;
}

/// Every slot holds the same bits, so every slot must give the same output bits.
class PreparedGemm final : public Prepared {
 public:
  PreparedGemm(const Setup& setup, const GemmProblem& problem, Activation activation, const GemmKernels& kernels, bool tuned,
               std::string what)
      : device_(setup.device),
        problem_(problem),
        kernels_(kernels),
        what_(std::move(what)),
        slots_(setup, layout_of(problem)),
        first_columns_(first_columns(device_, problem)),
        plan_(activation == Activation::fused
                  ? kernels.plan(problem, algorithms(tuned), operands(0))
                  : plan_separate_activation(device_, kernels, problem, algorithms(tuned), operands(0))) {
    if (kernels_.workspace_bytes > 0) workspace_ = device_.allocate(kernels_.workspace_bytes);
    if (tuned) {
      tune(setup);
      slots_.poison();
    }
    const Fill a{setup.data, setup.seed, kA}, b{setup.data, setup.seed, kB};
    for (int slot = 0; slot < setup.slots; ++slot) reset(slot);
    if (is_checked_by_element(problem)) {
      epilogue_check_.emplace(device_, problem, a, b, kernels, *plan_, algorithm_, operands(0), workspace_.get());
    } else {
      check_.emplace(after_reset_and_launch(problem), a, b,
                     plan_->output_roundings(algorithm_) + (problem.accumulates ? 1 : 0));
    }
    if (shows_scales(problem)) scale_check_.emplace(device_, problem, *plan_, algorithm_, workspace_.get());
  }

  void launch(Stream stream, int slot) override { run(algorithm_, stream, slot); }

  /// A sum begins with the product, so that a launch doubles it.
  void reset(int slot) override {
    if (!problem_.accumulates) return;
    device_.zero(slots_.at(slot, kD), slots_.layout()[kD].bytes());
    run(algorithm_, device_.stream(), slot);
  }
  bool accumulates() const override { return problem_.accumulates; }

  Verification verify(int slot) override {
    Verification found = epilogue_check_
                             ? epilogue_check_->verify(operands(slot), slots_.at(slot, kD))
                             : check_->verify(device_, slots_.at(slot, kA), slots_.at(slot, kB), slots_.at(slot, kD));
    return scale_check_ ? scale_check_->verify(operands(slot), std::move(found)) : found;
  }

  std::vector<Output> outputs(int slot) override { return {slots_.output(slot, kD)}; }

  /// As cuBLAS documents of its results' reproducibility. A BLAS promises nothing.
  bool is_deterministic() const override { return device_.info().backend == Backend::cuda; }

  std::string fingerprint_key() const override { return kernels_.version() + "; " + algorithm(); }

  std::vector<std::pair<std::string, std::string>> notes() const override {
    std::vector<std::pair<std::string, std::string>> all = {{"library", kernels_.version()}, {"algorithm", algorithm()}};
    if (kernels_.workspace_bytes > 0) all.emplace_back("workspace offered", std::to_string(kernels_.workspace_bytes));
    if (!tuning_.empty()) all.emplace_back("tuning", tuning_);
    if (!what_.empty()) all.emplace_back("shape of", what_);
    return all;
  }

 private:
  static int algorithms(bool tuned) { return tuned ? kMostAlgorithms : 1; }
  GemmOperands operands(int slot) const {
    return {slots_.at(slot, kA), slots_.at(slot, kB), slots_.at(slot, kBias),
            static_cast<const std::int32_t*>(first_columns_.get())};
  }

  void run(int algorithm, Stream stream, int slot) const {
    plan_->launch(algorithm, operands(slot), slots_.at(slot, kD), workspace_.get(), stream);
  }

  void tune(const Setup& setup) {
    const auto count = static_cast<int>(plan_->algorithms().size());
    std::vector<Launch> launches;
    for (int i = 0; i < count; ++i) launches.emplace_back([this, i](Stream stream, int slot) { run(i, stream, slot); });
    // The library may propose algorithms that it cannot run; they have infinite time.
    const std::vector<double> seconds = setup.time(launches);
    algorithm_ = static_cast<int>(std::min_element(seconds.begin(), seconds.end()) - seconds.begin());
    const double best = seconds[static_cast<std::size_t>(algorithm_)];
    tuning_ = fmt::format("proposal {} of {}", algorithm_ + 1, count);
    if (std::isfinite(seconds.front())) {
      tuning_ += fmt::format("; {:.3f} times faster than the library's first choice", seconds.front() / best);
    }
    const auto failed = std::count(seconds.begin(), seconds.end(), std::numeric_limits<double>::infinity());
    if (failed > 0) tuning_ += fmt::format("; {} unusable", failed);
  }

  const std::string& algorithm() const { return plan_->algorithms()[static_cast<std::size_t>(algorithm_)]; }

  Device& device_;
  GemmProblem problem_;
  const GemmKernels& kernels_;
  std::string what_;
  Slots slots_;
  Memory first_columns_;
  std::unique_ptr<GemmPlan> plan_;
  Memory workspace_;
  int algorithm_ = 0;
  std::string tuning_;
  std::optional<ProductCheck> check_;
  std::optional<EpilogueCheck> epilogue_check_;
  std::optional<ScaleCheck> scale_check_;
};

}  // namespace

SlotLayout layout_of(const GemmProblem& p) {
  return SlotLayout({SlotArray::matrix(p.type_of_a(), p.products() * p.m, p.k, kA),
                     SlotArray::matrix(p.type_of_b(), p.batch * p.n, p.k, kB),
                     SlotArray::output(p.output, static_cast<std::size_t>(p.batch * p.d_count())),
                     SlotArray::input(p.bias_type(), static_cast<std::size_t>(p.batch * p.bias_count()), kBias)});
}

std::size_t updated_bytes(const GemmProblem& p) {
  return p.accumulates ? static_cast<std::size_t>(p.batch * p.d_count()) * size_of(p.output) : 0;
}

std::size_t shared_bytes(const GemmProblem& problem, Activation activation, const GemmKernels& kernels) {
  return kernels.workspace_bytes + first_columns_bytes(problem) +
         (is_checked_by_element(problem) ? EpilogueCheck::bytes(problem) : 0) +
         (shows_scales(problem) ? ScaleCheck::bytes(problem) : 0) +
         (activation == Activation::separate ? separate_activation_bytes(problem) : 0);
}

std::unique_ptr<Prepared> prepare(const Setup& setup, const GemmProblem& problem, Activation activation,
                                  const GemmKernels& kernels, bool tuned, const std::string& what) {
  return std::make_unique<PreparedGemm>(setup, problem, activation, kernels, tuned, what);
}

}  // namespace roofmark::gemm
