// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/result/result_file.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

/// Version of the JSON of a verdict; another one is not read.
inline constexpr int kVerdictVersion = 2;

/// The judgement with the profile, the terms and the files it rests on. Its `rules` have what their checks have in common once,
/// and checks that differ in their case alone are one entry: `of` has the indices of the cases in `names`.
Json to_json(const Judgement& judgement, const Profile& profile, const AcceptanceTerms& terms,
             const std::vector<ResultFile>& files, const std::string& judged_utc);

/// JUnit's XML: a suite per device, node and the delivery, a case per check; a check that is not mandatory and does not pass is
/// skipped, with its reason.
std::string to_junit(const Judgement& judgement, const Profile& profile);

}  // namespace roofmark
