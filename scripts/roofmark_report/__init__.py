# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Presents result files. C++ measures and judges; nothing here does either: what is shown is read from the file or follows from
it by arithmetic. The exception is fleet_judge: it compares many files, by the rules of harness/judge/ranks."""
