// SPDX-FileCopyrightText: The roofmark authors
// SPDX-License-Identifier: Apache-2.0
#include "bench/program/mpi/team_run.hpp"

int main(int argc, char** argv) { return roofmark::roofmark_mpi_main(argc, argv); }
