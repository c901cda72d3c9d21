// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "harness/device/random.hpp"
#include "harness/model/measurement.hpp"

namespace roofmark {

// The words for values of enumerations, in result files and for people.
std::string_view name(Status status);
std::string_view name(Issue issue);
std::string_view name(Timed timed);
std::string_view name(ClockDomain clock);
std::string_view name(Cache cache);
std::string_view name(Distribution distribution);
std::string_view name(StopReason reason);
std::string_view name(SetsCeiling::By way);
std::string_view name(Pattern pattern);
std::string_view name(OverlapRole role);
std::string_view name(Verification::Status status);
std::string_view name(PathKind kind);

/// The value that has this name. Throws std::invalid_argument.
template <class Enum>
Enum parse(std::string_view word);
/// The same of a string in a file; `Source` is Json or JsonText::View.
template <class Enum, class Source>
Enum word_of(const Source& json) {
  return parse<Enum>(json.template get<std::string>());
}

}  // namespace roofmark
