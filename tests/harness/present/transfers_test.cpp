// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/present/transfers.hpp"

#include <gmock/gmock.h>

#include <algorithm>

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
  both.flows = 2;
  both.sum_bytes_per_second = 96e9;
  return {{alone, both}, {{"any/small", {"a", "b"}, 0.99}, {"any/both", {"c", "d"}, 0.87}}};
}

TEST(TransfersText, OneLinePerLink) {
  Roofline roofline;
  roofline.at(resource::host_to_device).theoretical = 63e9;
  roofline.at(resource::host_to_device).theoretical_source = "PCIe 5 x16: 16 lanes x 32 GT/s, 128b/130b (a specification)";
  const std::string text = transfers_text(of_two_links(), roofline, {false, false, 200});
  EXPECT_THAT(text, AllOf(HasSubstr("host to device "), HasSubstr("pinned, near, copy_engine"), HasSubstr("55.1 GB/s"),
                          HasSubstr("87.4 % of PCIe 5 x16  "), HasSubstr("2.10 us"), HasSubstr("116 kB"), HasSubstr("0.9998"),
                          HasSubstr("host to device + device to host"), HasSubstr("0.870"), HasSubstr("96.0 GB/s")));
  EXPECT_THAT(text, Not(AnyOf(HasSubstr("not linear"), HasSubstr("0.990")))) << "the largest size says what links share";
}

TEST(TransfersText, ARowIsALineAt120Columns) {
  Roofline roofline;
  roofline.at(resource::host_to_device).theoretical = 63e9;
  roofline.at(resource::host_to_device).theoretical_source = "PCIe 5 x16: 16 lanes x 32 GT/s, 128b/130b (a specification)";
  Transfers transfers = of_two_links();
  for (TransferSeries& series : transfers.series) {
    series.how = {"write_combined", "far", "copy_engine", "cold"};
    series.of_theoretical = 0.874;
    series.of_empirical = 0.99;
  }
  transfers.series.front().how[3] = "warm";
  const std::string text = transfers_text(transfers, roofline, {false, false, 120});
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5) << "a title, headings, two rows, and what does not fit:\n" << text;
  EXPECT_THAT(text, HasSubstr("not shown at this width, but in the file: "));
  EXPECT_THAT(text, AllOf(HasSubstr("55.1 GB/s"), HasSubstr("87.4 % of PCIe 5 x16")));
}

TEST(TransfersText, TheCeilingIsNamedWithoutItsSource) {
  Roofline roofline;
  roofline.at(resource::host_to_device).theoretical = 450e9;
  roofline.at(resource::host_to_device).theoretical_source = "18 NVLinks x 25 GB/s (a datasheet: H100, H200)";
  EXPECT_THAT(transfers_text(of_two_links(), roofline, {false, false, 200}), HasSubstr("87.4 % of 18 NVLinks x 25 GB/s  "));
}

TEST(TransfersText, ALineThatIsNoneIsCalledSo) {
  Transfers transfers = of_two_links();
  transfers.series.front().fit->r2 = 0.7;
  EXPECT_THAT(transfers_text(transfers, {}, {false, false, 200}), HasSubstr("0.7000 (not linear)"));
}

TEST(TransfersText, NothingWithoutTransfers) { EXPECT_EQ(transfers_text({}, {}, {}), ""); }

/// Of each to each other, 100 GB/s and the sender's and receiver's numbers.
Transfers of_pairs(int gpus) {
  Transfers made;
  for (const double bytes : {64.0, 268435456.0}) {
    TransferMatrix matrix{"any/peer", {"on", "reads"}, bytes};
    for (int from = 0; from < gpus; ++from) {
      for (int to = 0; to < gpus; ++to) {
        if (from == to) continue;
        const double rate = bytes < 100 ? 1e9 : (100 + 10 * from + to) * 1e9;
        matrix.cells.push_back({{gpu_endpoint(from), gpu_endpoint(to)}, rate, PeerPath{PathKind::nvlink, 18, {}}});
        matrix.series.push_back("any/" + std::to_string(from) + "/" + std::to_string(to));
      }
    }
    made.matrices.push_back(matrix);
  }
  for (const std::string& name : made.matrices.front().series) {
    TransferSeries series;
    series.name = name;
    series.how = {"row of " + name};
    series.links = {resource::peer_in, resource::peer_out};
    made.series.push_back(series);
  }
  return made;
}

TEST(TransfersText, MatricesShowTheLargestSizeInPlaceOfRows) {
  const std::string text = transfers_text(of_pairs(3), {}, {false, false, 200});
  EXPECT_EQ(text,
            "on, reads, 268 MB; all by 18 NVLinks, GB/s   gpu:0   gpu:1   gpu:2\n"
            "from gpu:0                                       .  101.00  102.00\n"
            "from gpu:1                                  110.00       .  112.00\n"
            "from gpu:2                                  120.00  121.00       .\n");
}

TEST(TransfersText, DifferentPathsStandBesideTheirRates) {
  Transfers transfers = of_pairs(3);
  for (TransferMatrix& matrix : transfers.matrices) matrix.cells.front().path = PeerPath{PathKind::system, 0, {}};
  const std::string text = transfers_text(transfers, {}, {false, false, 200});
  EXPECT_THAT(text, AllOf(HasSubstr("101.00 SYS"), HasSubstr("102.00 NV18"), Not(HasSubstr("all by"))));
}

TEST(TransfersText, StagedPairsGoThroughHostMemory) {
  Transfers transfers = of_pairs(3);
  for (TransferMatrix& matrix : transfers.matrices) matrix.staged = true;
  EXPECT_THAT(transfers_text(transfers, {}, {false, false, 200}),
              AllOf(HasSubstr("on, reads, 268 MB; through host memory, GB/s"), Not(HasSubstr("NVLink"))));
}

TEST(TransfersText, AMatrixThatIsTooLargeHasItsSlowestPairs) {
  const std::string text = transfers_text(of_pairs(20), {}, {false, false, 200});
  EXPECT_THAT(text,
              AllOf(HasSubstr("the worst 10 of 380 pairs"), HasSubstr("gpu:0 to gpu:1"), Not(HasSubstr("gpu:19 to gpu:18"))));
}

TEST(TransfersText, FewPairsKeepTheirRows) {
  const std::string text = transfers_text(of_pairs(2), {}, {false, false, 200});
  EXPECT_THAT(text, AllOf(HasSubstr("row of any/0/1"), HasSubstr("from gpu:1")));
}

}  // namespace
}  // namespace roofmark
