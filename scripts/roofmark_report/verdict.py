# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Reads the verdict written by `roofmark accept --json`."""

import collections

import jsonschema
import orjson

from .program import printable

VERSION = 2  # kVerdictVersion (harness/result/acceptance_file.hpp)
VERDICTS = ("FAIL", "NOT MEASURED", "INSIDE THE INTERVAL", "PASS")  # from bad to good, as `roofmark accept` names them

_TEXT, _NUMBER = {"type": "string"}, {"type": "number"}
_DEVICE = {"type": "string", "pattern": r"^(\S+ \(\S+ of .*\)|\S+(, rank \d+)? of .*)$"}  # DeliveredDevice::label()
_SUBJECT = {"type": "object", "required": ["name", "verdict", "checks", "bad"], "properties": {
    "name": _TEXT, "verdict": {"enum": VERDICTS}, "checks": {"type": "integer"}, "bad": {"type": "integer"}}}
_SUBJECTS = {"type": "array", "items": _SUBJECT, "minItems": 1}
_DEVICES = _SUBJECTS | {"items": _SUBJECT | {"properties": _SUBJECT["properties"] | {"name": _DEVICE}}}
# What the tools read of it. A check has all that its rule and its entry have, so that neither may have the other's.
_SCHEMA = {
    "type": "object", "required": ["judged_utc", "accepted", "build", "profile", "files", "delivery", "nodes", "devices", "names",
                                    "rules"],
    "properties": {
        "judged_utc": _TEXT, "accepted": {"type": "boolean"}, "delivery": _SUBJECT, "nodes": _SUBJECTS, "devices": _DEVICES,
        "build": {"type": "object", "required": ["version", "commit", "dirty"], "properties": {
            "version": _TEXT, "commit": _TEXT, "dirty": {"type": "boolean"}}},
        "expected_gpus": {"type": "integer"}, "doubts": {"type": "array", "items": _TEXT}, "max_age_seconds": _NUMBER,
        "profile": {"type": "object", "required": ["name", "title", "inherited"], "properties": {
            "name": _TEXT, "title": _TEXT, "inherited": {"type": "array", "items": _TEXT}}},
        "files": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["path", "sha256", "not_held"], "properties": {
            "path": _TEXT, "sha256": _TEXT, "not_held": {"type": ["array", "null"], "items": _TEXT}}}},
        "names": {"type": "array", "items": _TEXT},
        "rules": {"type": "array", "items": {
            "type": "object", "required": ["rule", "per", "checks"], "additionalProperties": False, "properties": {
                **dict.fromkeys(("rule", "quantity", "meaning", "per", "reason", "source", "origin"), _TEXT),
                "checks": {"type": "array", "minItems": 1, "items": {
                    "type": "object", "required": ["mandatory", "verdict", "expected", "found"], "additionalProperties": False, "properties": {
                        **dict.fromkeys(("node", "file", "expected", "found", "explanation"), _TEXT), "device": _DEVICE,
                        **dict.fromkeys(("limit", "measured", "interval_low", "interval_high", "margin"), _NUMBER),
                        "of": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
                        "mandatory": {"type": "boolean"}, "verdict": {"enum": VERDICTS}}}}}}}}}


def is_verdict(data):
    """Whether these bytes of a file are a verdict's: no other file begins with when it was judged."""
    return b'"judged_utc"' in data[:100]


def parse(data):
    """The verdict with `checks`, of one case each and with the facts of their rule, in place of its `rules` and `names`; raises ValueError
    with one line that says what is wrong."""
    try:
        verdict = orjson.loads(data)  # refuses what the standard library takes: NaN, infinity, half a character
    except ValueError as error:
        raise ValueError(f"not JSON ({error})") from error
    if is_verdict(data) and isinstance(verdict, dict) and (version := verdict.get("verdict_version", 1)) != VERSION:
        raise ValueError(f"a verdict of version {version!r}, and these scripts read version {VERSION}: have roofmark accept judge again")
    for error in jsonschema.Draft202012Validator(_SCHEMA).iter_errors(verdict):
        raise ValueError(f"not a verdict of roofmark accept: {error.json_path}: {error.message[:160]}")
    verdict["checks"] = _checks(verdict.pop("rules"), verdict.pop("names"))
    _hold_against_checks(verdict)
    return verdict


def _checks(rules, names):
    """Each check by itself."""
    made = []
    for rule in rules:
        entries = rule.pop("checks")
        for entry in entries:
            cases, check = entry.pop("of", None), rule | entry
            if cases is None:
                made.append(check)
            elif max(cases) < len(names):
                made += [check | {"of": names[int(case)]} for case in cases]  # 0.0 is an integer too
            else:
                raise ValueError(f"not a verdict of roofmark accept: a check of {printable(rule['rule'])} is of name {max(cases)} of {len(names)}")
    return made


def of_checks(checks):
    """What the checks of a subject give: the verdict is that of its worst mandatory check."""
    bad = [check["verdict"] for check in checks if check["mandatory"] and check["verdict"] != "PASS"]
    return {"verdict": min(bad, key=VERDICTS.index, default="PASS"), "checks": len(checks), "bad": len(bad)}


def _hold_against_checks(verdict):
    """The verdict on each subject and on the delivery must follow from the checks."""
    checks = verdict["checks"]
    for check in checks:
        if check["verdict"] == "PASS" and "limit" in check:
            if "measured" not in check:
                raise ValueError(f"the verdict was edited: {printable(check['rule'])} passes and has no measured value")
            short = check["limit"] - check["measured"] if check["expected"].startswith(">=") else check["measured"] - check["limit"]
            if short > 0:
                raise ValueError(f"the verdict was edited: {printable(check['rule'])} passes with {check['measured']:.15g}, its limit is {check['expected']}")
    held = [(verdict["delivery"], checks)]
    for key, subjects in (("node", verdict["nodes"]), ("device", verdict["devices"])):
        own = collections.defaultdict(list)
        for check in checks:
            own[check.get(key)].append(check)
        held += [(subject, own[subject["name"]]) for subject in subjects]
    for subject, own in held:
        for key, value in of_checks(own).items():
            if subject[key] != value:
                raise ValueError(f"the verdict was edited: {key} of {printable(subject['name'])} is {subject[key]}, and its checks give {value}")
    if verdict["accepted"] != (verdict["delivery"]["verdict"] == "PASS"):
        raise ValueError(f"the verdict was edited: accepted is {str(verdict['accepted']).lower()}, and the delivery's verdict is {verdict['delivery']['verdict']}")
