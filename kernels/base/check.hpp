// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace roofmark {

/// A library or the device refused a call. Sticky: every later call on that device would fail too.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, bool sticky) : std::runtime_error(what), sticky_(sticky) {}
  bool sticky() const { return sticky_; }

 private:
  bool sticky_;
};

/// The device has too little free memory for what was asked.
class OutOfMemory : public std::runtime_error {
 public:
  OutOfMemory(std::size_t wanted, std::size_t free)
      : std::runtime_error("out of memory: " + std::to_string(wanted) + " bytes wanted, " + std::to_string(free) + " free"),
        wanted_bytes(wanted),
        free_bytes(free) {}
  std::size_t wanted_bytes;
  std::size_t free_bytes;
};

/// The device or the library cannot do this at all (fp8 on sm_80, a layout the library lacks): no failure.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a library says of one of its statuses; each library's overloads stand beside its first use, found by its status type.
struct StatusText {
  bool ok = true;
  bool sticky = false;
  std::string text;
};

/// The one error check: throws DeviceError with the call's place and the library's own words.
template <class Status>
void check(Status status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const StatusText said = describe_status(status);
  if (said.ok) return;
  throw DeviceError(std::string(file) + ":" + std::to_string(line) + ": " + said.text, said.sticky);
}

}  // namespace roofmark
