// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/families/separate_activation.hpp"

#include <fmt/format.h>

#include "kernels/elementwise.hpp"

namespace roofmark::gemm {
namespace {

const ElementwiseKernels* elementwise_for(Backend backend) { return select(backend, &cuda::elementwise, &cpu::elementwise); }

GemmProblem product_of(GemmProblem problem) {
  problem.epilogue = without_activation(problem.epilogue);
  return problem;
}

/// A column of D is a row here.
ElementwiseProblem activation_of(const GemmProblem& p) {
  return {.op = has_relu(p.epilogue) ? ElementwiseOp::relu : ElementwiseOp::gelu_tanh,
          .type = p.output,
          .rows = p.batch * p.n,
          .columns = p.m};
}

class SeparateActivation final : public GemmPlan {
 public:
  SeparateActivation(Device& device, const GemmKernels& kernels, const GemmProblem& problem, int most,
                     const GemmOperands& operands)
      : activation_(activation_of(problem)),
        elementwise_(*elementwise_for(device.info().backend)),
        product_(kernels.plan(product_of(problem), most, operands)),
        before_(device.allocate(separate_activation_bytes(problem))) {
    for (const std::string& algorithm : product_->algorithms()) {
      algorithms_.push_back(fmt::format("{}; then {} in a kernel of its own", algorithm, name(activation_.op)));
    }
  }

  const std::vector<std::string>& algorithms() const override { return algorithms_; }
  int output_roundings(int algorithm) const override { return product_->output_roundings(algorithm); }
  int roundings_before_epilogue() const override { return product_->roundings_before_epilogue() + 1; }
  void launch(int algorithm, const GemmOperands& operands, void* d, void* workspace, Stream stream) const override {
    product_->launch(algorithm, operands, before_.get(), workspace, stream);
    ElementwiseArrays arrays;
    arrays.x = before_.get();
    arrays.out = d;
    elementwise_.launch(activation_, arrays, stream);
  }

 private:
  ElementwiseProblem activation_;
  const ElementwiseKernels& elementwise_;
  std::unique_ptr<GemmPlan> product_;
  Memory before_;
  std::vector<std::string> algorithms_;
};

}  // namespace

std::string reason_against_separate_activation(Backend backend, const GemmProblem& problem) {
  if (!has_activation(problem.epilogue)) return "act:separate needs an epilogue with relu or gelu";
  const ElementwiseKernels* const kernels = elementwise_for(backend);
  const ElementwiseProblem activation = activation_of(problem);
  if (kernels && kernels->supports(activation)) return {};
  return fmt::format("there is no kernel for {} of {} alone", name(activation.op), name(activation.type));
}

std::size_t separate_activation_bytes(const GemmProblem& p) {
  return static_cast<std::size_t>(p.batch * p.d_count()) * size_of(p.output);
}

std::unique_ptr<GemmPlan> plan_separate_activation(Device& device, const GemmKernels& kernels, const GemmProblem& problem,
                                                   int most, const GemmOperands& operands) {
  return std::make_unique<SeparateActivation>(device, kernels, problem, most, operands);
}

}  // namespace roofmark::gemm
