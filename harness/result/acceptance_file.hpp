// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/judge/acceptance/acceptance.hpp"
#include "harness/result/result_file.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

/// The judgement with the profile, the terms and the files it rests on.
Json to_json(const Judgement& judgement, const Profile& profile, const AcceptanceTerms& terms,
             const std::vector<ResultFile>& files, const std::string& judged_utc);

/// JUnit's XML: a suite per device, node and the delivery, a case per check; a check that is not mandatory and does not pass is
/// skipped, with its reason.
std::string to_junit(const Judgement& judgement, const Profile& profile);

}  // namespace roofmark
