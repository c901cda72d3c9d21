# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The file of a made-up verdict."""

import json

from roofmark_report.verdict import VERSION

OF_RULE = ("rule", "quantity", "meaning", "per", "reason", "source", "origin")


def folded(verdict):
    """A verdict, as roofmark_report.verdict.parse returns it, as `roofmark accept --json` writes it; without entries of several cases."""
    names, rules = [], {}
    for check in verdict["checks"]:
        entry = {key: value for key, value in check.items() if key not in OF_RULE}
        if "of" in check:
            names += [check["of"]] if check["of"] not in names else []
            entry["of"] = [names.index(check["of"])]
        rule = {key: check[key] for key in OF_RULE if key in check}
        rules.setdefault(json.dumps(rule), rule | {"checks": []})["checks"].append(entry)
    kept = {key: value for key, value in verdict.items() if key not in ("checks", "judged_utc")}
    return {"judged_utc": verdict["judged_utc"], "verdict_version": VERSION} | kept | {"names": names, "rules": list(rules.values())}


def written(verdict):
    return json.dumps(folded(verdict))
