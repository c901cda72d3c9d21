// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace roofmark {

/// How launches reach the device. Short launches wait behind a gate (a kernel that holds the stream until the batch is
/// enqueued) or are replayed as a captured graph. The CPU has only `stream`: a function call.
enum class Issue { automatic, stream, gate, graph };

/// How the seconds of a sample are measured.
///   device      between two events on the device
///   call        of the host, from the call until it returns
///   completion  of the host, from the call until the device has finished
/// On the CPU, where a call returns when the work is done, the three are one. The host's times begin on an idle device.
enum class Timed { device, call, completion };

}  // namespace roofmark
