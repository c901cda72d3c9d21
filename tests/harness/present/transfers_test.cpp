// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/transfers.hpp"

#include <gmock/gmock.h>

namespace roofmark {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

Transfers of_two_links() {
  TransferSeries alone;
  alone.links = {resource::host_to_device};
  alone.how = {"pinned", "near", "copy_engine"};
  alone.fit = LatencyFit{"", 2.1e-6, 55.3e9, {}, 0.9998, 5};
  alone.half_size_bytes = 116e3;
  alone.bytes = 268435456;
  alone.bytes_per_second = 55.1e9;
  alone.of_theoretical = 0.874;
  TransferSeries both;
  both.links = {resource::host_to_device, resource::device_to_host};
  both.largest = "any/both";
  both.how = alone.how;
  both.bytes = 268435456;
  both.bytes_per_second = 48e9;
  return {{alone, both}, {{"any/small", {"a", "b"}, 0.99}, {"any/both", {"c", "d"}, 0.87}}};
}

TEST(TransfersText, OneLinePerLink) {
  Roofline roofline;
  roofline.at(resource::host_to_device).theoretical = 63e9;
  roofline.at(resource::host_to_device).theoretical_source = "PCIe 5 x16: 16 lanes x 32 GT/s, 128b/130b (a specification)";
  const std::string text = transfers_text(of_two_links(), roofline, {false, false, 200});
  EXPECT_THAT(text, AllOf(HasSubstr("host to device "), HasSubstr("pinned, near, copy_engine"), HasSubstr("55.1 GB/s"),
                          HasSubstr("87.4 % of PCIe 5 x16  "), HasSubstr("2.10 us"), HasSubstr("116 kB"), HasSubstr("0.9998"),
                          HasSubstr("host to device + device to host"), HasSubstr("0.870")));
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("not linear"), HasSubstr("0.990")))) << "the largest size says what links share";
}

TEST(TransfersText, ALineThatIsNoneIsCalledSo) {
  Transfers transfers = of_two_links();
  transfers.series.front().fit->r2 = 0.7;
  EXPECT_THAT(transfers_text(transfers, {}, {false, false, 200}), HasSubstr("0.7000 (not linear)"));
}

TEST(TransfersText, NothingWithoutTransfers) { EXPECT_EQ(transfers_text({}, {}, {}), ""); }

}  // namespace
}  // namespace roofmark
