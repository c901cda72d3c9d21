// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace roofmark {

/// Set by SIGINT, SIGTERM and SIGHUP (unless it is ignored, as under nohup) once take_signals() was called, and by
/// note_interruption(). A second signal ends the process at once; the journal has every finished case.
const std::atomic<bool>& interrupted();
void take_signals();
/// Another rank was interrupted.
void note_interruption();

}  // namespace roofmark
