// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/selected_device.hpp"

#include "bench/program/usage_error.hpp"

namespace roofmark {

std::unique_ptr<Device> open_selected(const std::string& value, std::string& note) {
  if (value == "all") throw UsageError("--device all works only with run; other commands take one device: auto, cpu or cuda:N");
  return open_device(resolve_devices(value, note).front());
}

}  // namespace roofmark
