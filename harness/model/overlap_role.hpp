// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/case_name.hpp"

namespace roofmark {

/// The role of a case among three that show how much communication is hidden behind work: each alone, and both together. Their
/// names differ in the operation.
enum class OverlapRole { work, communication, together };

/// What the names of the three have in common.
inline CaseName overlap_series(const CaseName& name) {
  CaseName series = name;
  series.operation.clear();
  return series;
}

}  // namespace roofmark
