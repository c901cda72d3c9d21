// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/commands.hpp"

int main(int argc, char** argv) { return roofmark::roofmark_main(argc, argv); }
