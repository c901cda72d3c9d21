# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Formats quantities as the program does (harness/model/units.cpp). An absent or non-finite quantity is an empty string."""

import math

PREFIXES = {-12: "p", -9: "n", -6: "u", -3: "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P"}
PER_SECOND = {"FLOP": "FLOP/s", "op": "op/s", "B": "B/s", "exp": "exp/s", "access": "accesses/s", "launch": "launches/s"}


def absent(value):
    return value is None or not math.isfinite(value)


def digits(value, count=3):
    """With `count` significant digits, and never an exponent."""
    if value == 0:
        return "0"
    magnitude = int(f"{abs(value):.{count - 1}e}".partition("e")[2])
    return f"{value:.{max(0, count - 1 - magnitude)}f}"


def in_full(value):
    """Never with an exponent."""
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"


def scaled(value, unit, smallest=0):
    """With the prefix of the value's magnitude, or the nearest to it from 10^smallest on."""
    exponent = 0
    if value:
        magnitude = int(f"{abs(value):.2e}".partition("e")[2])
        exponent = min(max(magnitude // 3 * 3, smallest), max(PREFIXES))
    whole = exponent == 0 and value == int(value)
    prefix = PREFIXES[exponent]
    # "450 k launches/s": a space between prefix and word.
    return f"{f'{value:.0f}' if whole else digits(value / 10.0**exponent)} {prefix}{' ' if prefix and len(unit) > 6 else ''}{unit}"


def rate(value, unit):
    return "" if absent(value) else scaled(value, PER_SECOND[unit])


def seconds(value):
    if absent(value):
        return ""
    for unit, scale in (("ns", 1e9), ("us", 1e6), ("ms", 1e3)):
        if abs(value) * scale < 999.5:
            return f"{digits(value * scale)} {unit}"
    return f"{digits(value)} s"


def operation(record):
    """What the rate of a record counts: FLOPs, or operations that are none."""
    return "op" if any(demand["unit"] == "op" for phase in record["work"]["phases"] for demand in phase) else "FLOP"


def size(value):
    return "" if absent(value) else scaled(value, "B")


def joules(value, unit="J"):
    return "" if absent(value) else scaled(value, unit, smallest=-12)


def share(value):
    return "" if absent(value) else f"{100 * value:z.1f} %"  # z: no -0.0


def change(value):
    """+1.2 %"""
    return "" if absent(value) else f"{100 * value:+z.1f} %"


def clock(value):
    return "" if absent(value) else f"{value / 1e6:.0f} MHz"


def watts(value):
    return "" if absent(value) else f"{value:.0f} W"


def intensity(value):
    """FLOPs per byte."""
    return "" if absent(value) else in_full(value)


def link_rate(value):
    """As links are sold: 400 Gb/s."""
    return "" if absent(value) else f"{in_full(value * 8 / 1e9)} Gb/s"


def duration(value):
    """2 min 05 s"""
    if absent(value):
        return ""
    minutes, rest = divmod(round(value), 60)
    return f"{rest} s" if not minutes else f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def plural(count, one, many=None):
    return f"{count} {one if count == 1 else many or one + 's'}"
