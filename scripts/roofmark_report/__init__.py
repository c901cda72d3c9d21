# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Presents result files. Measuring and judging is done in C++: everything shown here is read from the file or computed from it.
The exceptions are fleet_judge and fleet_stragglers: they compare many files, by the rules of harness/judge/ranks."""
