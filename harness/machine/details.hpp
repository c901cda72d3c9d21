// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "harness/machine/json_fwd.hpp"

namespace roofmark {

/// Facts by name, as a JSON object. JSON's own header takes seconds to compile: only files that look into the facts include
/// harness/machine/json.hpp.
class Details {
 public:
  Details();
  Details(Json facts);
  Details(const Details& other);
  Details(Details&& other) noexcept;
  Details& operator=(Details other) noexcept;
  ~Details();

  Json& operator*() { return *facts_; }
  const Json& operator*() const { return *facts_; }
  Json* operator->() { return facts_.get(); }
  const Json* operator->() const { return facts_.get(); }

 private:
  std::unique_ptr<Json> facts_;
};

}  // namespace roofmark
