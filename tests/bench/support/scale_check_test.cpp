// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/support/scale_check.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <utility>

#include "harness/device/cpu_device.hpp"

namespace roofmark {
namespace {

using Status = Verification::Status;

/// A block of a line, whose scale is taken for another one's; of line -1, for a tiny one.
using Place = std::pair<std::int64_t, std::int64_t>;
using Reading = std::function<Place(Place)>;

/// By plain plan over the elements that are not 0. May take other scales of A and B, and multiply the sums.
class TermByTerm final : public GemmPlan {
 public:
  explicit TermByTerm(const GemmProblem& problem) : problem_(problem) {}
  const std::vector<std::string>& algorithms() const override {
    static const std::vector<std::string> only = {"term by term"};
    return only;
  }
  int output_roundings(int) const override { return 1; }
  void launch(int, const GemmOperands& operands, void* d, void*, Stream) const override {
    ++launches;
    const GemmProblem& p = problem_;
    const auto rows = taken({p.type_of_a(), p.m, p.k}, operands.a, of_a),
               columns = taken({p.type_of_b(), p.n, p.k}, operands.b, of_b);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      for (std::size_t column = 0; column < columns.size(); ++column) {
        double sum = 0;
        const bool few_of_a = rows[row].size() < columns[column].size();
        const auto& few = few_of_a ? rows[row] : columns[column];
        const auto& many = few_of_a ? columns[column] : rows[row];
        for (const auto& [term, value] : few) {
          const auto other = many.find(term);
          if (other != many.end()) sum += value * other->second;
        }
        if (operands.bias) sum += load_as_double(p.bias_type(), operands.bias, row);
        store(p.output, d, column * rows.size() + row, p.alpha * sum * factor);
      }
    }
  }

  Reading of_a, of_b;
  double factor = 1;
  mutable int launches = 0;

 private:
  using Line = std::unordered_map<std::int64_t, double>;
  /// The values of all lines, by their terms.
  static std::vector<Line> taken(const BlockScaledLayout& layout, const void* data, const Reading& reading) {
    std::vector<Line> lines(static_cast<std::size_t>(layout.lines));
    with_block_scaled_type(layout.type, [&]<DataType kType>() {
      const auto* const bytes = static_cast<const std::uint8_t*>(data);
      const auto* const scales = reinterpret_cast<const BlockScale<kType>*>(bytes + layout.scales_offset());
      for (std::int64_t index = 0; index < layout.lines * layout.terms; ++index) {
        const std::uint8_t byte = bytes[kType == DataType::nvfp4 ? index / 2 : index];
        if (byte == 0) continue;
        Place place{index / layout.terms, index % layout.terms / layout.block()};
        if (reading) place = reading(place);
        const double scale =
            place.first < 0 ? 0x1p-20 : scale_value<kType>(scales[layout.scale_index(place.first, place.second)]);
        lines[static_cast<std::size_t>(index / layout.terms)][index % layout.terms] =
            static_cast<double>(unscaled_value<kType>(byte, index)) * scale;
      }
    });
    return lines;
  }
  GemmProblem problem_;
};

/// Operands on the host, as filled.
class ScaledOperands {
 public:
  explicit ScaledOperands(const GemmProblem& problem, Distribution data = Distribution::normal)
      : plan(problem),
        layout_a{problem.type_of_a(), problem.m, problem.k},
        layout_b{problem.type_of_b(), problem.n, problem.k},
        device_(open_cpu_device()),
        problem_(problem),
        a_(filled(layout_a, {data, 3, 0})),
        b_(filled(layout_b, {data, 3, 1})) {}

  Verification verify() {
    return ScaleCheck(*device_, problem_, plan, 0, nullptr).verify({a_.get(), b_.get()}, Verification::within(0, 1, "right"));
  }
  /// |first - second| / second of two scales of A, or of B.
  double difference(bool of_a, Place first, Place second) const {
    const BlockScaledLayout& layout = of_a ? layout_a : layout_b;
    const auto* const scales =
        reinterpret_cast<const float*>(static_cast<const std::byte*>((of_a ? a_ : b_).get()) + layout.scales_offset());
    const double one = scales[layout.scale_index(first.first, first.second)],
                 other = scales[layout.scale_index(second.first, second.second)];
    return std::fabs(one - other) / other;
  }

  TermByTerm plan;
  BlockScaledLayout layout_a, layout_b;

 private:
  Memory filled(const BlockScaledLayout& layout, const Fill& fill) {
    Memory memory = device_->allocate(layout.bytes());
    device_->fill(memory.get(), layout, fill);
    return memory;
  }
  std::unique_ptr<Device> device_;
  GemmProblem problem_;
  Memory a_, b_;
};

GemmProblem fp8_product(std::int64_t m, std::int64_t n, std::int64_t k, GemmScaling scaling, DataType output = DataType::bf16) {
  GemmProblem problem{m, n, k, DataType::fp8};
  problem.output = output;
  problem.scaling = scaling;
  return problem;
}

Reading swapped(Place one, Place other) {
  return [=](Place place) { return place == one ? other : place == other ? one : place; };
}

TEST(ScaleCheck, PassesARightProductOfEveryScaling) {
  for (const GemmScaling scaling : {GemmScaling::vec128, GemmScaling::blk128}) {
    for (const DataType output : {DataType::bf16, DataType::fp16, DataType::fp32}) {
      GemmProblem problem = fp8_product(144, 8, 400, scaling, output);
      problem.epilogue = GemmEpilogue::bias;
      problem.alpha = 0x1p-4;
      ScaledOperands scaled(problem);
      const Verification found = scaled.verify();
      EXPECT_EQ(found.status, Status::passed) << name(scaling) << " " << name(output) << ": " << found.detail;
      EXPECT_GT(found.error, 0.1);
      EXPECT_THAT(found.detail, testing::StartsWith("right; "));
    }
  }
  for (const DataType type : {DataType::mxfp8, DataType::nvfp4}) {
    ScaledOperands scaled(GemmProblem{40, 24, 160, type});
    EXPECT_EQ(scaled.verify().status, Status::passed) << name(type);
    scaled.plan.of_b = swapped({7, 1}, {7, 2});
    scaled.plan.of_a = [](Place place) { return Place{place.first ^ 1, place.second}; };
    EXPECT_EQ(scaled.verify().status, Status::failed) << name(type);
  }
  ScaledOperands zeros(fp8_product(16, 8, 272, GemmScaling::vec128), Distribution::zeros);
  EXPECT_EQ(zeros.verify().status, Status::passed);
}

// Of a sum of 16 blocks in bf16.
TEST(ScaleCheck, FindsTwoSwappedScalesWhereverTheyAre) {
  for (const GemmScaling scaling : {GemmScaling::vec128, GemmScaling::blk128}) {
    ScaledOperands scaled(fp8_product(256, 16, 2048, scaling));
    EXPECT_EQ(scaled.verify().status, Status::passed);
    for (const bool of_a : {true, false}) {
      const BlockScaledLayout& layout = of_a ? scaled.layout_a : scaled.layout_b;
      int planted = 0;
      for (std::int64_t tried = 0; planted < 2 && tried < 15; ++tried) {
        const std::int64_t block = tried * 11 % 15;
        const Place one{layout.block_lines() == 1 ? 5 : 128, block};
        for (const Place& other : {Place{one.first, block + 1}, Place{one.first - layout.block_lines(), block}}) {
          if (scaled.difference(of_a, one, other) < 0.02) continue;
          ++planted;
          // A square is taken for another one by all of its lines.
          const Reading squares = swapped(one, other);
          (of_a ? scaled.plan.of_a : scaled.plan.of_b) = [&](Place place) {
            const std::int64_t rest = place.first % layout.block_lines();
            const Place taken = squares({place.first - rest, place.second});
            return Place{taken.first + rest, taken.second};
          };
          EXPECT_EQ(scaled.verify().status, Status::failed)
              << name(scaling) << (of_a ? " A" : " B") << " line " << one.first << " block " << block;
          scaled.plan.of_a = scaled.plan.of_b = {};
        }
      }
      EXPECT_GE(planted, 2);
    }
  }
}

// The elements of a filled matrix are 0 here and there, of nvfp4 one in fifteen.
TEST(ScaleCheck, FindsAWrongScaleOfABlockWhoseElementsHideIt) {
  for (const DataType type : {DataType::mxfp8, DataType::nvfp4}) {
    ScaledOperands scaled(GemmProblem{32, 24, 64, type});
    for (const bool of_a : {true, false}) {
      const BlockScaledLayout& layout = of_a ? scaled.layout_a : scaled.layout_b;
      for (std::int64_t line = 0; line < layout.lines; ++line) {
        for (std::int64_t block = 0; block < layout.blocks_per_line(); ++block) {
          (of_a ? scaled.plan.of_a : scaled.plan.of_b) = [=](Place place) {
            return place == Place{line, block} ? Place{-1, 0} : place;
          };
          EXPECT_EQ(scaled.verify().status, Status::failed) << name(type) << (of_a ? " A " : " B ") << line << ", " << block;
        }
      }
      scaled.plan.of_a = scaled.plan.of_b = {};
    }
  }
}

TEST(ScaleCheck, FindsATransposedOrderAndAWrongFactor) {
  for (const GemmScaling scaling : {GemmScaling::vec128, GemmScaling::blk128}) {
    ScaledOperands scaled(fp8_product(512, 8, 640, scaling));
    for (const bool of_a : {true, false}) {
      const BlockScaledLayout& layout = of_a ? scaled.layout_a : scaled.layout_b;
      const std::int64_t step = layout.block_lines(), lines = layout.lines / step, blocks = layout.blocks_per_line();
      (of_a ? scaled.plan.of_a : scaled.plan.of_b) = [=](Place place) {
        const std::int64_t index = place.first / step * blocks + place.second;
        return Place{index % lines * step, index / lines};
      };
      EXPECT_EQ(scaled.verify().status, Status::failed) << name(scaling) << (of_a ? " A" : " B");
      scaled.plan.of_a = scaled.plan.of_b = {};
    }
    scaled.plan.factor = 1.02;
    EXPECT_EQ(scaled.verify().status, Status::failed);
    scaled.plan.factor = std::nan("");
    EXPECT_EQ(scaled.verify().status, Status::failed);
  }
}

TEST(ScaleCheck, MakesItsProductsOnceAndKeepsWhatAnotherCheckFound) {
  const GemmProblem problem = fp8_product(16, 8, 272, GemmScaling::vec128);
  const std::unique_ptr<Device> device = open_cpu_device();
  const Memory a = device->allocate(BlockScaledLayout{problem.type_of_a(), problem.m, problem.k}.bytes()),
               b = device->allocate(BlockScaledLayout{problem.type_of_b(), problem.n, problem.k}.bytes());
  device->fill(a.get(), BlockScaledLayout{problem.type_of_a(), problem.m, problem.k}, {Distribution::normal, 3, 0});
  device->fill(b.get(), BlockScaledLayout{problem.type_of_b(), problem.n, problem.k}, {Distribution::normal, 3, 1});
  const TermByTerm plan(problem);
  const std::size_t before = device->allocated_bytes();
  ScaleCheck check(*device, problem, plan, 0, nullptr);
  EXPECT_EQ(device->allocated_bytes() - before, ScaleCheck::bytes(problem));
  EXPECT_EQ(check.verify({a.get(), b.get()}, Verification::within(2, 1, "wrong")).status, Status::failed);
  EXPECT_EQ(plan.launches, 0) << "it is wrong anyway";
  const Verification first = check.verify({a.get(), b.get()}, Verification::within(0.9, 1, "right"));
  EXPECT_EQ(first.status, Status::passed);
  EXPECT_GE(first.error, 0.9);
  EXPECT_EQ(plan.launches, 2);
  EXPECT_EQ(check.verify({a.get(), b.get()}, Verification::within(0.1, 1, "right")).status, Status::passed);
  EXPECT_EQ(plan.launches, 2);
}

}  // namespace
}  // namespace roofmark
