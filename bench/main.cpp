// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/suite.hpp"

int main() { return roofmark::families().empty(); }
