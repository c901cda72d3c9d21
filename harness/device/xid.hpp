// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace roofmark {

/// An error report of the driver (Xid) that programs cause on a healthy GPU.
struct ApplicationXid {
  int number;
  std::string_view usual_cause;
};

/// Those that NVIDIA's catalog (docs.nvidia.com/deploy/xid-errors, analyzing-xid-catalog) ascribes to applications in most
/// cases: 13, 31, 43, 45, 137; and those that Kubernetes' GPU plugin ignores by default (NVIDIA/k8s-device-plugin,
/// internal/rm/health.go): 13, 31, 43, 45, 68, 109. For 109 the catalog names a reset of the GPU; where one is needed the
/// driver reports Xid 154 too. All others are faults of the device, also those that an application may survive (63, 92, 94).
inline constexpr ApplicationXid kApplicationXids[] = {
    {13, "an exception in a kernel: an access outside of an array, an illegal instruction"},
    {31, "a page fault: a kernel or a copy used an address without memory"},
    {43, "a program was stopped after a fault of its own"},
    {45, "a program ended or was killed while the GPU worked for it"},
    {68, "an exception in the video decoder"},
    {109, "a kernel did not give way to another program in time"},
    {137, "a page fault in another GPU's memory over NVLink"},
};

/// Null for an Xid that is a fault of the device, or unknown.
constexpr const ApplicationXid* find_application_xid(double number) {
  for (const ApplicationXid& xid : kApplicationXids) {
    if (xid.number == number) return &xid;
  }
  return nullptr;
}

/// Empty for one that find_application_xid does not know.
constexpr std::string_view usual_cause_of_xid(double number) {
  const ApplicationXid* const xid = find_application_xid(number);
  return xid ? xid->usual_cause : std::string_view();
}

}  // namespace roofmark
