// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace roofmark {

/// What an error report of the driver (Xid) tells of the GPU.
enum class XidClass {
  fault,          ///< of the device
  application,    ///< programs cause it on a healthy GPU
  informational,  ///< no fault
};

struct Xid {
  int number;
  XidClass tells;
  std::string_view meaning;  ///< the usual cause
};

/// All others are faults: unknown ones too, and those that an application may survive (92: so many corrected errors that the
/// driver turns their interrupts off; 94: lost data in the memory of one application). The catalog is NVIDIA's
/// (docs.nvidia.com/deploy/xid-errors, analyzing-xid-catalog).
inline constexpr Xid kXids[] = {
    // Ascribed to applications in most cases by the catalog (13, 31, 43, 45, 137), or ignored by Kubernetes' GPU plugin by
    // default (NVIDIA/k8s-device-plugin, internal/rm/health.go: 13, 31, 43, 45, 68, 109). For 109 the catalog names a reset of
    // the GPU; where one is needed the driver reports Xid 154 too.
    {13, XidClass::application, "an exception in a kernel: an access outside of an array, an illegal instruction"},
    {31, XidClass::application, "a page fault: a kernel or a copy used an address without memory"},
    {43, XidClass::application, "a program was stopped after a fault of its own"},
    {45, XidClass::application, "a program ended or was killed while the GPU worked for it"},
    {68, XidClass::application, "an exception in the video decoder"},
    {109, XidClass::application, "a kernel did not give way to another program in time"},
    {137, XidClass::application, "a page fault in another GPU's memory over NVLink"},
    // The catalog's immediate action is IGNORE, and it leaves nothing to investigate (63, 106, 107) or says in words that this
    // is no fault (14, 93, 121). IGNORE alone is not enough: 92 has it, and so have 157 and 161, repairs that failed.
    {14, XidClass::informational, "a fake error that a program injected"},
    {63, XidClass::informational, "a faulty row or page of memory was marked for replacement"},
    {93, XidClass::informational, "the InfoROM was not updated, because of a limit that nvflash had set"},
    {106, XidClass::informational, "a test message of the management controller"},
    {107, XidClass::informational, "a silent test message of the management controller"},
    {121, XidClass::informational, "corrected errors of the link to the Grace CPU (NVLink-C2C)"},
};

/// Null for one that is a fault.
constexpr const Xid* find_xid(double number) {
  for (const Xid& xid : kXids) {
    if (xid.number == number) return &xid;
  }
  return nullptr;
}

constexpr XidClass class_of_xid(double number) {
  const Xid* const xid = find_xid(number);
  return xid ? xid->tells : XidClass::fault;
}

/// Empty for one that is a fault.
constexpr std::string_view meaning_of_xid(double number) {
  const Xid* const xid = find_xid(number);
  return xid ? xid->meaning : std::string_view();
}

}  // namespace roofmark
