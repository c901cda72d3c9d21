// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace roofmark {

/// How launches reach the device. Short launches wait behind a gate (a kernel that holds the stream until the batch is
/// enqueued) or are replayed as a captured graph. The CPU has only `stream`: a function call.
enum class Issue { automatic, stream, gate, graph };

}  // namespace roofmark
