// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/measurement.hpp"
#include "harness/result/json_text.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

// The member `measurement` of a record, as record_json.hpp says.
Json to_json(const Measurement& m);
Measurement measurement_from_json(const JsonText::View& json);

// The member `sustained` of a record, and of each rank's times.
Json to_json(const Sustained& sustained);
Sustained sustained_from_json(const JsonText::View& json);

}  // namespace roofmark
