// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/model/measurement.hpp"
#include "harness/model/statistics.hpp"

namespace roofmark {

inline void set_name(Record& record, std::string_view text) { static_cast<CaseName&>(record) = parse_case_name(text); }

/// An ok record of `samples` samples in five blocks, all of the same time.
inline Record ok_record(std::string family, std::string operation, Work work, double seconds, int samples = 20) {
  Record record;
  record.family = std::move(family);
  record.operation = std::move(operation);
  record.shape = {{"n", "1"}};
  record.work = std::move(work);
  record.status = Status::ok;
  Measurement measurement;
  for (int i = 0; i < samples; ++i) measurement.samples.push_back({0.1 * i, seconds, 1e-6, i * 5 / samples, false});
  measurement.blocks.resize(5);
  measurement.summary.median = measurement.summary.minimum = measurement.summary.maximum = seconds;
  measurement.settled = true;
  measurement.cache_by = "slots";
  record.measurement = measurement;
  return record;
}

/// A probe that spends `amount` of a resource in `seconds`, and sets its ceiling.
inline Record probe_record(std::string operation, Resource resource, double amount, double seconds) {
  Record record = ok_record("ceilings", std::move(operation), {{{{resource, amount}}}}, seconds);
  record.sets_ceiling = {resource};
  return record;
}

/// The times of its blocks scatter by this share, those within a block by 0.2 %.
inline void scatter_blocks(Record& record, double share, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  Measurement& measurement = *record.measurement;
  std::vector<double> factors(measurement.blocks.size());
  for (double& factor : factors) factor = std::exp(share * normal(random));
  for (Sample& sample : measurement.samples) sample.seconds *= factors.at(sample.block) * (1 + 0.002 * normal(random));
  measurement.summary = summarize(measurement.samples);
}

/// Ceilings of DRAM and FMA, and a product below them.
inline std::vector<Record> placed_records() {
  Record memory = probe_record("dram_read", resource::dram, 1e9, 1e-3);
  Record compute = probe_record("fma", resource::fp32_fma, 1e12, 1e-2);
  Record gemm = ok_record("gemm", "blas", {{{{resource::fp32_fma, 1e12}, {resource::dram, 1e9}}}}, 2e-2);
  Record wrong = ok_record("stream", "copy", {{{{resource::dram, 1e9}}}}, 1e-3);
  wrong.status = Status::wrong;
  wrong.measurement.reset();
  return {memory, compute, gemm, wrong};
}

}  // namespace roofmark
