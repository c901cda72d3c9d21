# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The published schema, and the one reader of result files."""

import hashlib
import json

import make_result
import pytest
from conftest import need

need("jsonschema")
import jsonschema  # noqa: E402
from roofmark_report import program  # noqa: E402
from roofmark_report import result as reader  # noqa: E402


def encode(value):
    return json.dumps(value).encode()


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(reader.SCHEMA)


def test_synthetic_results_fit(result):
    reader.parse(encode(result))
    reader.parse(encode(make_result.interrupted(result)))


def test_a_team_of_ranks_fits(cluster):
    reader.parse(encode(cluster))
    for change, said in [
        (lambda r: r["team"][1].pop("host"), "'host' is a required property"),
        (lambda r: r.pop("team"), "'team' is a dependency of 'communication'"),
        (lambda r: r["communication"]["pairs"][0].update(seconds=0), "communication.pairs[0].seconds"),
        (lambda r: r["communication"]["fits"][0].update(alpha=1), "'alpha' was unexpected"),
        (lambda r: r["benchmarks"][10]["roofmark"]["message"].update(place="beside"), "roofmark.message.place"),
        (lambda r: r["benchmarks"][10]["roofmark"]["measurement"]["ranks"][0].pop("median"), "'median' is a required property"),
        (lambda r: r["benchmarks"][10]["roofmark"]["fingerprint"].update(differing_ranks=[-1]), "differing_ranks[0]"),
        (lambda r: r["unmeasured"][0]["roofmark"]["verification"]["before"].update(wrong=0), "before.wrong"),
    ]:
        changed = json.loads(json.dumps(cluster))
        change(changed)
        with pytest.raises(ValueError) as error:
            reader.parse(encode(changed))
        assert said in str(error.value)


def test_the_quick_way_through_lists_finds_what_the_general_way_finds(small):
    general = jsonschema.Draft202012Validator(reader.SCHEMA)
    samples = small["benchmarks"][0]["roofmark"]["measurement"]["samples"]
    for key, bad in [("seconds", -1.0), ("seconds", "1"), ("seconds", True), ("start", None), ("block", 1.5), ("block", -1),
                     ("throttled", 0)]:
        before = samples[key][3]
        samples[key][3] = bad
        assert not general.is_valid(small)
        with pytest.raises(ValueError, match=rf"samples\.{key}\[3\]"):
            reader.parse(encode(small))
        samples[key][3] = before
    reader.parse(encode(small))


def places(value):
    """Each key of the objects and the first index of the lists in a value, with what holds it."""
    for key, member in list(value.items() if isinstance(value, dict) else enumerate(value[:1])):
        yield value, key
        if isinstance(member, (dict, list)):
            yield from places(member)


def test_what_passes_the_quick_way_fits(result):
    assert reader._quick(reader.SCHEMA)(result), "else each file takes the general way"
    record = {"$ref": "#/$defs/benchmark", "$defs": reader.SCHEMA["$defs"]}
    general, quick = jsonschema.Draft202012Validator(record), reader._quick(record)
    entry = max(result["benchmarks"], key=lambda entry: len(json.dumps(entry["roofmark"]["measurement"]["blocks"])))
    refused = 0
    for number, (holder, key) in enumerate(places(entry)):
        before = holder[key]
        for bad in [None, True, -1, "?", [], {}, 0.5][number % 2::2]:
            holder[key] = bad
            assert general.is_valid(entry) or not quick(entry), f"{key}: {bad}"
            refused += not quick(entry)
        del holder[key]
        assert general.is_valid(entry) or not quick(entry), key
        if isinstance(holder, dict):
            holder[key] = before
        else:
            holder.insert(key, before)
    assert refused > 100 and quick(entry) and general.is_valid(entry)


def test_an_interval_of_few_wild_blocks_may_reach_below_zero(small):
    small["benchmarks"][0]["roofmark"]["measurement"]["interval"] = [-0.5, 2.5]
    reader.parse(encode(small))


@pytest.mark.parametrize("change, said", [
    (lambda r: r.update(schema_version=3), "has schema version 3, this tool reads version 2"),
    (lambda r: r.update(schema_version=1), "written by an older roofmark (schema 1)"),
    (lambda r: r.update(schema_version=True), "has schema version true"),
    (lambda r: r.pop("schema_version"), "no schema_version"),
    (lambda r: r.pop("device"), "'device' is a required property"),
    (lambda r: r.pop("scope"), "'scope' is a required property"), (lambda r: r.pop("health"), "'health' is a required property"),
    (lambda r: r.pop("verdict"), "'verdict' is a required property"), (lambda r: r["verdict"].update(level="fine"), "verdict.level"),
    (lambda r: r.update(ended={}), "'reason' is a required property"),
    (lambda r: r.update(extra=1), "'extra' was unexpected"),
    (lambda r: r["benchmarks"][0].update(real_time=0), "benchmarks[0].real_time"),
    (lambda r: r["benchmarks"][0]["roofmark"].update(status="wrong"), "'ok' was expected"),
    (lambda r: r["benchmarks"][0]["roofmark"].pop("measurement"), "'measurement' is a required property"),
    (lambda r: r["unmeasured"][0]["roofmark"].update(status="ok"), "unmeasured[0].roofmark.status"),
    (lambda r: r["unmeasured"][0]["roofmark"].update(placement={}), "unmeasured[0].roofmark"),
    (lambda r: r["benchmarks"].append(r["benchmarks"][0]), "twice"),
    (lambda r: r["benchmarks"][0]["roofmark"]["measurement"]["samples"]["block"].pop(), "differ in length"),
    (lambda r: r.update(seed=10**30), "out of range"),
    (lambda r: r["wall_time"].update(total_seconds=1e200), "out of range"),
    (lambda r: r["ceilings"][0].update(theoretical=1e-200), "out of range"),
    (lambda r: r["wall_time"].update(total_seconds=float("nan")), "NaN is not JSON"),
    (lambda r: r["wall_time"].update(total_seconds=float("-inf")), "-Infinity is not JSON"),
])
def test_what_does_not_fit_is_named(small, change, said):
    change(small)
    with pytest.raises(ValueError) as error:
        reader.parse(encode(small))
    assert said in str(error.value)
    assert len(str(error.value)) < 500 and "\n" not in str(error.value)


@pytest.mark.parametrize("data, said", [
    (b"", "it is empty; `roofmark recover` rebuilds it"), (b"{", "; `roofmark recover` rebuilds it from its journal, result.jsonl"), (b" \n", "it is empty"),
    (b'{"header":{}}\n{"footer":{}}\n', "it is the journal of a run, not its result; `roofmark recover`"), (b"{", "truncated"), (b'{"schema_ver', "truncated"),
    (b'{"a": 1.', "truncated"), (b'{"a": tr', "truncated"), (b'{"a": 1e-\n', "truncated"), (b"hello", "not JSON"),
    (b"[1, 2]", "not written by roofmark"), (b"\xff\xfe", "not UTF-8 at byte 0"), (b"[" * 200_000, "nested too deeply"),
    (b'{"schema_version": ' + b"9" * 5000 + b"}", "out of range"), (b'{"schema_version": 1e999}', "out of range"),
])
def test_what_is_no_result_is_said(data, said):
    with pytest.raises(ValueError, match=said):
        reader.parse(data)


def test_a_missing_file_is_named(tmp_path):
    for path in (tmp_path / "none.json", tmp_path, "nul\0byte"):
        with pytest.raises(program.Problem) as error:
            reader.load(path)
        assert error.value.status == 2


def test_a_file_changed_since_its_sum_was_written_is_refused(small, save):
    path = save(small)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    sums = path.with_name("result.json.sha256")
    sums.write_text(f"{digest}  result.json\n")
    assert reader.load(path)[1] == digest
    small["seed"] += 1
    changed = hashlib.sha256(save(small).read_bytes()).hexdigest()
    with pytest.raises(program.Problem) as error:
        reader.load(path)
    assert error.value.status == 2 and str(error.value) == (
        f"{path}: has been changed since it was written: its SHA-256 is {changed}, result.json.sha256 says {digest}")
    sums.write_text("")
    with pytest.raises(program.Problem, match="result.json.sha256 says nothing"):
        reader.load(path)
    del small["finished_utc"]  # a run in progress, which rewrites the file without its sum
    assert reader.load(save(small))[0] == small
