// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace roofmark {

/// A call failed in a library or on the device. Sticky: every later call on that device would fail too.
class DeviceError : public std::runtime_error {
 public:
  DeviceError(const std::string& what, bool sticky) : std::runtime_error(what), sticky_(sticky) {}
  bool sticky() const { return sticky_; }

 private:
  bool sticky_;
};

/// Too little free memory for an allocation. `of`: the kind of memory; `limits`: other limits that may forbid it.
class OutOfMemory : public std::runtime_error {
 public:
  OutOfMemory(std::size_t wanted, std::size_t free, const std::string& of = "memory", const std::string& limits = {})
      : std::runtime_error("out of " + of + ": " + std::to_string(wanted) + " bytes wanted, " + std::to_string(free) + " free" +
                           limits),
        wanted_bytes(wanted),
        free_bytes(free) {}
  std::size_t wanted_bytes;
  std::size_t free_bytes;
};

/// The device or library does not support this at all (fp8 on sm_80, a missing layout). Not a failure.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A library's description of a status. describe_status is overloaded by status type, next to the library's first use.
struct StatusText {
  bool ok = true;
  bool sticky = false;
  std::string text;
};

/// The one error check: throws DeviceError with the place of the call and the library's own text.
inline void check(const StatusText& said, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (said.ok) return;
  throw DeviceError(std::string(file) + ":" + std::to_string(line) + ": " + said.text, said.sticky);
}
template <class Status>
void check(Status status, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  check(describe_status(status), file, line);
}

}  // namespace roofmark
