# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Formats quantities with three digits and a decimal prefix. An absent quantity is an empty string."""

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"}
PER_SECOND = {"FLOP": "FLOP/s", "op": "op/s", "B": "B/s", "exp": "exp/s", "access": "accesses/s", "launch": "launches/s"}


def digits(value, count=3):
    """With `count` significant digits, and never an exponent."""
    if value == 0:
        return "0"
    magnitude = int(f"{abs(value):.{count - 1}e}".partition("e")[2])
    return f"{value:.{max(0, count - 1 - magnitude)}f}"


def scaled(value, unit):
    exponent = 0
    if value:
        magnitude = int(f"{abs(value):.2e}".partition("e")[2])
        exponent = min(max(magnitude // 3 * 3, min(PREFIXES)), max(PREFIXES))
    prefix = PREFIXES[exponent]
    # "450 k launches/s": a space between prefix and word.
    return f"{digits(value / 10.0**exponent)} {prefix}{' ' if prefix and len(unit) > 6 else ''}{unit}"


def rate(value, unit):
    return "" if value is None else scaled(value, PER_SECOND[unit])


def seconds(value):
    return "" if value is None else scaled(value, "s")


def size(value):
    return "" if value is None else f"{value:.0f} B" if value < 1000 and value == int(value) else scaled(value, "B")


def capacity(value):
    """The size of a memory or cache in binary units: 60 MiB."""
    for exponent, prefix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if value >= 1 << exponent:
            return f"{digits(value / (1 << exponent)) if value % (1 << exponent) else value >> exponent} {prefix}B"
    return f"{value} B"


def share(value):
    return "" if value is None else f"{digits(100 * value) if abs(value) >= 0.1 else f'{100 * value:.1f}'} %"


def clock(value):
    return "" if value is None else f"{value / 1e6:.0f} MHz"


def duration(value):
    """2 m 05 s"""
    if value < 60:
        return f"{digits(value)} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} m {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} m"


def plural(count, one, many=None):
    return f"{count} {one if count == 1 else many or one + 's'}"
