# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Reads result files without their samples, which are most of a file: readers of hundreds of files do not need them."""

import re

import orjson

from .result import SCHEMA_VERSION, parse, without_samples


def read(data, use):
    """What `use` makes of the result in these bytes of a file; raises ValueError with one line that says what is wrong."""
    try:
        result = orjson.loads(without_samples(data))
        if result["schema_version"] != SCHEMA_VERSION:
            raise ValueError("another schema version")
        return use(result)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        parse(data)  # says what is wrong, in the words of all tools
        raise ValueError(f"its parts do not fit together: {error}") from error


def parts_of(label):
    """The UUID (empty for a CPU), the id and the host in what `roofmark accept` calls a device."""
    named = re.fullmatch(r"(\S+) \((\S+) of (.*)\)", label) or re.fullmatch(r"()(\S+(?:, rank \d+)?) of (.*)", label)
    if not named:
        raise ValueError(f"'{label}' is not a device")
    return named.groups()


def device_key(uuid, device_id, host):
    """Equal for one device in all results: what CUDA_VISIBLE_DEVICES makes of its number may differ."""
    return uuid or device_id, host


def key_of(label):
    """The same of a device's label."""
    return device_key(*parts_of(label))


def short_of(uuid, device_id, host):
    """What a narrow column calls a device: its node, id and the beginning of its UUID."""
    return f"{host} {device_id}" + (f" ({'-'.join(uuid.split('-')[:2])})" if uuid else "")


def short(label):
    """The same of a device's label."""
    return short_of(*parts_of(label))
