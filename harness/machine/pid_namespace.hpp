// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

namespace roofmark {

/// False in a container that has a PID namespace of its own: the processes of other containers and of the host are hidden, also
/// from the driver's list of processes. True if the kernel does not tell. `root` is "/", or a copy in tests.
bool sees_all_processes(const std::filesystem::path& root);

}  // namespace roofmark
