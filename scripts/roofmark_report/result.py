# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Reads a result file, or says in one line why it cannot be read."""

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import jsonschema

from .program import BAD_INPUT, ROOT, Problem, read_file

SCHEMA_VERSION = 2
_SAMPLES = re.compile(rb"\s*:\s*\{")
_WAY_BACK = "; `roofmark recover` rebuilds it from its journal, result.jsonl"
# Every quantity of a result is within these limits; products and ratios of three of them do not overflow.
LARGEST, SMALLEST = 1e90, 1e-90


class _OutOfRange(ValueError):
    pass


class NoResult(ValueError):
    """The file is whole, but something else."""


def _number(text, kind):
    value = kind(text)
    # A number too long for the type reads as infinity and fails here too.
    if value != 0 and not SMALLEST < abs(value) < LARGEST:
        raise _OutOfRange(f"the number {text[:30]} is out of range")
    return value


def _integer(text):
    if len(text) > 25:
        raise _OutOfRange(f"the number {text[:30]} is out of range")
    return int(text)


def _no_number(text):
    raise _OutOfRange(f"{text} is not JSON: unknown numbers are left out of a result file")


def _object(schema):
    named = {name: _quick(rule) for name, rule in schema.get("properties", {}).items()}
    other = _quick(schema.get("additionalProperties", True))
    return lambda value: type(value) is dict and all(named.get(name, other)(member) for name, member in value.items())


def _list(schema):
    fits = _quick(schema["items"])
    return lambda value: type(value) is list and all(map(fits, value))


def _reference(schema):
    name = schema["$ref"].rpartition("/")[2]
    return lambda value: _quick(SCHEMA["$defs"][name])(value)


_TYPES = {"number": (int, float), "integer": (int,), "boolean": (bool,), "string": (str,), "null": (type(None),), "object": (dict,), "array": (list,)}
_NUMBER = _TYPES["number"]
# For each keyword of a schema, from the schema: a function that is true only of values that fit.
_KEYWORDS = {
    "$ref": _reference, "properties": _object, "items": _list,
    "additionalProperties": lambda schema: _object(schema) if "properties" not in schema else lambda value: True,
    "type": lambda schema: lambda value, types=[kind for name in ([schema["type"]] if isinstance(schema["type"], str) else schema["type"])
                                                for kind in _TYPES[name]]: type(value) in types,
    "const": lambda schema: lambda value: type(value) is type(schema["const"]) and value == schema["const"],
    "enum": lambda schema: lambda value: any(type(value) is type(option) and value == option for option in schema["enum"]),
    "pattern": lambda schema: lambda value: type(value) is str and re.search(schema["pattern"], value),
    "minimum": lambda schema: lambda value: type(value) in _NUMBER and value >= schema["minimum"],
    "exclusiveMinimum": lambda schema: lambda value: type(value) in _NUMBER and value > schema["exclusiveMinimum"],
    "maximum": lambda schema: lambda value: type(value) in _NUMBER and value <= schema["maximum"],
    "minItems": lambda schema: lambda value: type(value) is list and len(value) >= schema["minItems"],
    "maxItems": lambda schema: lambda value: type(value) is list and len(value) <= schema["maxItems"],
    "required": lambda schema: lambda value: type(value) is dict and value.keys() >= set(schema["required"]),
    "dependentRequired": lambda schema: lambda value: type(value) is dict and all(
        value.keys() >= set(others) for name, others in schema["dependentRequired"].items() if name in value),
}
_SAYS_NOTHING = {"$schema", "$defs", "title", "description"}
_made = {}


def _quick(schema):
    """A function that is true only of values that fit the schema; where it is false, the general validation, which takes seconds for
    a long result, decides and says what is wrong."""
    if isinstance(schema, bool):
        return lambda value: schema
    if id(schema) not in _made:
        made = [_KEYWORDS[keyword](schema) for keyword in schema.keys() - _SAYS_NOTHING if keyword in _KEYWORDS]
        known = schema.keys() <= _KEYWORDS.keys() | _SAYS_NOTHING
        _made[id(schema)] = schema, lambda value: known and all(fits(value) for fits in made)
    return _made[id(schema)][1]


def _items(validator, items, instance, schema):
    """The keyword `items`, without the general validation of those that fit."""
    for index, item in enumerate(instance if isinstance(instance, list) else ()):
        if not _quick(items)(item):
            yield from validator.descend(item, items, path=index)


SCHEMA = json.loads((ROOT / "results" / "schema.json").read_text(encoding="utf-8"))
_FINDING = SCHEMA["$defs"]["finding"]["properties"]
SEVERITIES = _FINDING["severity"]["enum"][::-1]  # the worst first
KINDS = _FINDING["kind"]["enum"]  # in the order in which people read them


class Status(NamedTuple):
    """What a page says of the cases with a status; `mark`: its class where there are any."""

    meaning: str
    mark: str = ""


# ok, then the worst first.
STATUSES = {
    "ok": Status("measured, and every check passed"),
    "wrong": Status("wrong result: no time is reported", "alarm"),
    "failed": Status("could not be measured", "note"),
    "not_run": Status("not reached, or too little memory", "note"),
    "unsupported": Status("not possible on this device; not a failure"),
}
_VALIDATOR = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"items": _items})(SCHEMA)


def _cut(text, length=160):
    return text if len(text) <= length else text[:length] + "..."


def parse(data):
    """Parses the bytes of a result file; raises ValueError with one line that says what is wrong."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 at byte {error.start}") from error
    try:
        result = json.loads(text, parse_float=lambda t: _number(t, float), parse_int=_integer, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        if not text.strip():
            raise ValueError("it is empty" + _WAY_BACK) from error
        if text.startswith('{"header"'):
            raise ValueError(f"it is the journal of a run, not its result{_WAY_BACK}") from error
        # What ends in the middle of a word or a number is cut off too.
        cut = error.pos > 0 and re.fullmatch(r"[\w.+-]*\s*", text[error.pos:]) or error.msg.startswith("Unterminated string")
        raise ValueError(f"{'truncated' if cut else 'not JSON'} (line {error.lineno}, column {error.colno}: {error.msg}){_WAY_BACK}") from error
    except RecursionError as error:
        raise ValueError("nested too deeply for a result") from error
    if not isinstance(result, dict) or "schema_version" not in result:
        damaged = isinstance(result, dict) and "benchmarks" in result
        raise (ValueError if damaged else NoResult)("not written by roofmark: no schema_version")
    version = result["schema_version"]
    if version == 1 and not isinstance(version, bool):
        raise ValueError("written by an older roofmark (schema 1) with other case names: measure again, or read it with that release")
    if version != SCHEMA_VERSION or isinstance(version, bool):
        raise ValueError(f"has schema version {_cut(json.dumps(version), 40)}, this tool reads version {SCHEMA_VERSION}")
    for error in () if _quick(SCHEMA)(result) else _VALIDATOR.iter_errors(result):
        raise ValueError(f"does not fit results/schema.json at {_cut(error.json_path)}: {_cut(error.message)}")
    _check_records(result)
    return result


def _check_records(result):
    """Checks that a JSON schema cannot express."""
    seen = set()
    for entry in result["benchmarks"] + result["unmeasured"]:
        key = key_of(entry)
        if key in seen:
            raise ValueError(f"holds case {_cut(entry['name'])} twice")
        seen.add(key)
    for entry in result["benchmarks"]:
        measured = entry["roofmark"]["measurement"]
        samples = measured["samples"]
        if len({len(column) for column in samples.values()}) > 1:
            raise ValueError(f"case {_cut(entry['name'])}: its sample lists differ in length")
        for one in filter(None, [measured, *measured.get("ranks", [])]):
            if "interval" in one and (one["interval"][1] <= 0 or one["interval"][1] < one["interval"][0]):
                raise ValueError(f"case {_cut(entry['name'])}: its interval ends before it begins, or at 0")


def observed_clock(measured):
    """The clock of the device whose time counts, of a team the slowest rank's; None if unknown."""
    slowest = max(filter(None, measured.get("ranks", [])), key=lambda times: times["median"], default={})
    return slowest.get("clock_hz", measured.get("clock_hz"))


def counts(result):
    """The number of cases by status. A ceiling, which is measured twice, is one case, of the worse status."""
    cases = {}
    for entry in result["benchmarks"] + result["unmeasured"]:
        cases.setdefault(entry["name"], []).append(entry["roofmark"]["status"])
    counted = Counter(map(worst_status, cases.values()))
    return {status: counted[status] for status in STATUSES}


def key_of(entry):
    """The ceilings are measured twice, so a record is identified by name and pass."""
    return entry["name"], entry["roofmark"]["pass"]


def rank_of_status(status):
    """Where a status stands in the order of STATUSES."""
    return list(STATUSES).index(status)


def worst_status(statuses):
    return min(statuses, key=lambda status: (status == "ok", rank_of_status(status)))


def rank_of_finding(finding):
    """Where a finding stands: the worst severities first, then the order of the kinds, as on the terminal."""
    return SEVERITIES.index(finding["severity"]), KINDS.index(finding["kind"])


MERGED = "together"  # `roofmark run --device all` keeps here the results that it merges, beside the merged one


def without_samples(data):
    """The file without the numbers of its samples, which are most of it. A quote inside a text is escaped, so "samples" is a key."""
    first, *rest = data.split(b'"samples"')
    for i, part in enumerate(rest):
        if _SAMPLES.match(part):
            rest[i] = b":{" + part[part.find(b"}"):]
    return b'"samples"'.join([first, *rest])


def _parts_of(path):
    """The folders, as "cuda-0", of the results that the one in a file is merged from."""
    try:
        return {member["device_id"].replace(":", "-") for member in json.loads(without_samples(read_file(path))).get("team", [])}
    except (AttributeError, LookupError, MemoryError, OSError, TypeError, ValueError):  # whoever reads it says why it cannot be read
        return set()


def without_merged(paths):
    """Without the results that were merged into another one of the paths, which stands for them."""
    found, parts = set(paths), {}

    def is_merged(path):
        merged = path.parents[2] / "result.json" if len(path.parents) > 2 and path.parents[1].name == MERGED else None
        if merged not in found:
            return False
        if merged not in parts:
            parts[merged] = _parts_of(merged)
        return path.parent.name in parts[merged]

    return [path for path in paths if not is_merged(path)]


def check_sum(path, result, digest):
    """Raises ValueError where the sum that was written beside a file is not that of the file. A run in progress rewrites its file
    without the sum."""
    sums = Path(f"{path}.sha256")
    if "finished_utc" not in result or not sums.is_file():
        return
    try:
        given = (read_file(sums, 1 << 20).decode("utf-8", "replace").split() or ["nothing"])[0]
    except ValueError as error:
        raise ValueError(f"{sums.name}: {error}") from error
    if given != digest:
        # What is no sum may be a secret that a link leads to: it is not told.
        said = given if given == "nothing" or re.fullmatch("[0-9a-f]{64}", given) else "something else"
        raise ValueError(f"has been changed since it was written: its SHA-256 is {digest}, {sums.name} says {said}")


def load(path):
    """The result in a file, and the SHA-256 of the file."""
    try:
        data = read_file(path)
        result, digest = parse(data), hashlib.sha256(data).hexdigest()
        check_sum(path, result, digest)
        return result, digest
    except OSError as error:
        raise Problem(BAD_INPUT, f"cannot read {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise Problem(BAD_INPUT, f"{path}: {error}") from error
    except MemoryError as error:
        raise Problem(BAD_INPUT, f"{path}: too large for the memory") from error


def files_of(path):
    """The path itself, or the files result.json below a folder. A folder that holds one is that run."""
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    own = folder / "result.json"
    found = [own] if own.is_file() else without_merged(sorted(folder.rglob("result.json")))
    if not found:
        raise Problem(BAD_INPUT, f"{path}: no result.json in this folder")
    return found
