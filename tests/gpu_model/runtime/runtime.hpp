// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
// What the stand-ins of cuBLASLt and NCCL use of the CUDA runtime.
#pragma once
#include "memory.hpp"
#include "operations.hpp"
#include "planted_faults.hpp"
#include "state.hpp"
