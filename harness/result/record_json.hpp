// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/model/measurement.hpp"
#include "harness/result/json_text.hpp"
#include "harness/team/json_fwd.hpp"

namespace roofmark {

// As results/schema.json describes them: seconds, bytes and hertz, unscaled; what is unknown is absent. Reading throws
// std::invalid_argument on what does not fit.
Json to_json(const Work& work);
Json to_json(const PeerPath& path);
Json to_json(const Record& record);
Record record_from_json(const JsonText::View& json);

}  // namespace roofmark
