// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/judge/contradictions.hpp"

#include <fmt/format.h>

#include <iterator>

#include "harness/model/units.hpp"

namespace roofmark {

namespace {

constexpr double kNoise = 1.05;

/// No device has the second faster than the first. tf32 and fp64 tensor cores are left out: on some devices they are as fast
/// as the FMAs, or slower.
struct Order {
  Resource faster, slower;
};
constexpr Order kOrders[] = {{resource::shared, resource::l2},
                             {resource::shared, resource::dram},
                             {resource::l1, resource::l2},
                             {resource::l1, resource::l3},
                             {resource::l1, resource::dram},
                             {resource::l2, resource::l3},
                             {resource::l2, resource::dram},
                             {resource::l3, resource::dram},
                             {resource::fp16_tensor, resource::fp16_fma},
                             {resource::bf16_tensor, resource::bf16_fma},
                             {resource::fp32_fma, resource::fp64_fma},
                             {resource::fp32_fma, resource::fp32_fma_one_core},
                             {resource::fp64_fma, resource::fp64_fma_one_core}};

}  // namespace

void find_contradictions(const Roofline& roofline, std::vector<Finding>& findings) {
  const auto rate_of = [&](const Resource& resource) {
    const Ceiling* ceiling = roofline.find(resource);
    return ceiling ? ceiling->empirical() : std::nullopt;
  };
  for (auto order = std::begin(kOrders); order != std::end(kOrders);) {
    // Of what a ceiling contradicts, the fastest.
    const Resource& faster = order->faster;
    const auto rate = rate_of(faster);
    const Resource* slower = nullptr;
    double fastest = 0;
    for (; order != std::end(kOrders) && order->faster == faster; ++order) {
      const auto other = rate_of(order->slower);
      if (!rate || !other || *other <= kNoise * *rate || *other <= fastest) continue;
      slower = &order->slower;
      fastest = *other;
    }
    if (!slower) continue;
    findings.push_back({FindingKind::contradiction,
                        fmt::format("{} reached {}, less than the {} of {}, which is slower on every device", faster.title,
                                    format_rate(*rate, faster.unit), format_rate(fastest, slower->unit), slower->title),
                        {},
                        fastest / *rate - 1,
                        fmt::format("{} was slower than {}", faster.title, slower->title)});
  }
}

}  // namespace roofmark
