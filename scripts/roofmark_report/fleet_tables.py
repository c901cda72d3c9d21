# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Many result files as tables of DuckDB. Processes read the files, without their samples, and write lines of JSON, which DuckDB
loads: its own reader of whole files would hold a batch of them in memory and could not name the one that is broken."""

import concurrent.futures
import datetime
import gc
import hashlib
import multiprocessing
import os
import re
from collections import Counter
from pathlib import Path

import duckdb
import orjson

from . import evidence, fleet_ceilings, verdict
from .program import BAD_INPUT, Problem, read_file
from .result import LARGEST, SMALLEST, NoResult, check_sum, observed_clock, without_merged

# A GPU is identified by its UUID, the CPU by its host. In a file of a team each rank has a device, and its own times.
TABLES = {
    "runs": ("one per file", {
        "run": "INTEGER", "file": "VARCHAR", "started": "TIMESTAMP", "suite": "VARCHAR", "data": "VARCHAR", "complete": "BOOLEAN",
        "headline": "VARCHAR", "changes": "VARCHAR", "host": "VARCHAR", "labels": "MAP(VARCHAR, VARCHAR)", "sha256": "VARCHAR"}),
    "devices": ("one per run and device; gpu is the UUID, or the host of a CPU; alone: nothing else on its host was measured at the same time; level: the "
                "run's verdict, as far as it is about this device; fault: what the run reports of the device, such as memory errors; slot: its PCI address, else its number", {
        "run": "INTEGER", "gpu": "VARCHAR", "host": "VARCHAR", "device": "VARCHAR", "slot": "VARCHAR", "rank": "INTEGER", "alone": "BOOLEAN", "level": "VARCHAR",
        "fault": "VARCHAR", "model": "VARCHAR", "kind": "VARCHAR", "serial": "VARCHAR", "driver": "VARCHAR", "vbios": "VARCHAR", "nccl": "VARCHAR", "kernel": "VARCHAR", "cuda": "VARCHAR",
        "roofmark": "VARCHAR"}),
    "records": ("one per run, device, case and pass; gpu is null where ranks communicate, seconds where the file has no time of the device, power and energy of "
                "cases shorter than a second without an energy counter; temperatures are the highest", {
        "run": "INTEGER", "gpu": "VARCHAR", "case_name": "VARCHAR", "family": "VARCHAR", "pass": "INTEGER", "status": "VARCHAR", "reason": "VARCHAR",
        "seconds": "DOUBLE", "cv": "DOUBLE", "of_empirical": "DOUBLE", "of_theoretical": "DOUBLE", "of_theoretical_clock": "DOUBLE",
        "flops_per_second": "DOUBLE", "bytes_per_second": "DOUBLE", "bound_by": "VARCHAR", "clock_hz": "DOUBLE", "power_watts": "DOUBLE",
        "joules_per_launch": "DOUBLE", "temperature_celsius": "DOUBLE", "memory_temperature_celsius": "DOUBLE", "throttled": "DOUBLE"}),
    "fingerprints": ("one per run, device and case that has one; only equal keys compare; hash is empty where launches differ", {
        "run": "INTEGER", "gpu": "VARCHAR", "case_name": "VARCHAR", "key": "VARCHAR", "hash": "VARCHAR"}),
    "ceilings": ("one per run, device and resource, in units per second; gpu is null in those of a team's slowest ranks; clock_share is the observed clock / that of the theoretical ceiling", {
        "run": "INTEGER", "gpu": "VARCHAR", "resource": "VARCHAR", "title": "VARCHAR", "unit": "VARCHAR", "empirical": "DOUBLE",
        "theoretical": "DOUBLE", "datasheet": "DOUBLE", "drift": "DOUBLE", "doubtful": "BOOLEAN", "clock_share": "DOUBLE"}),
    "findings": ("the findings in the files", {
        "run": "INTEGER", "kind": "VARCHAR", "severity": "VARCHAR", "text": "VARCHAR", "case_name": "VARCHAR"}),
    "verdicts": ("one per verdict of `roofmark accept` and subject: gpu, node or delivery; given: by --verdict", {
        "file": "VARCHAR", "given": "BOOLEAN", "judged": "TIMESTAMP", "profile": "VARCHAR", "subject": "VARCHAR", "host": "VARCHAR", "gpu": "VARCHAR", "verdict": "VARCHAR",
        "checks": "INTEGER", "bad": "INTEGER"}),
    "checks": ("one per check of a verdict; gpu is null where a node or the delivery is judged", {
        "file": "VARCHAR", "judged": "TIMESTAMP", "rule": "VARCHAR", "mandatory": "BOOLEAN", "host": "VARCHAR", "gpu": "VARCHAR", "case_name": "VARCHAR",
        "verdict": "VARCHAR", "measured": "DOUBLE", "margin": "DOUBLE", "expected": "VARCHAR", "found": "VARCHAR",
        "explanation": "VARCHAR"}),
    "unread": ("the files that could not be read", {"file": "VARCHAR", "reason": "VARCHAR"}),
    "left_out": ("the files that are no results, and the copies of others", {"file": "VARCHAR", "reason": "VARCHAR"}),
}
_KINDS = {"VARCHAR": str, "TIMESTAMP": str, "BOOLEAN": bool, "INTEGER": int, "DOUBLE": (int, float), "MAP(VARCHAR, VARCHAR)": dict}
_FILES_PER_TASK = 100


def _text(value):
    return None if value is None else str(value)


def _time(utc):
    return datetime.datetime.strptime(utc, "%Y-%m-%dT%H:%M:%SZ").isoformat()


def _check_date(what, utc):
    """The newest counts, so a clock that is far wrong would hide what came after or before."""
    tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)  # clocks differ
    if utc > tomorrow.strftime("%Y-%m-%dT%H:%M:%SZ"):
        raise ValueError(f"{what} in the future ({utc[:20]})")
    if utc < FIRST_DATE:
        raise ValueError(f"{what} on {utc[:10]}: the clock of its host was not set")


def _device_rows(result, run):
    """A device per rank of a team, else the one of the run."""
    device, host, details = result["device"], result["host"], result["device"]["details"]
    libraries = {name: library["version"] for name, library in result["libraries"].items()}
    build = result["build"]
    common = {
        "run": run, "model": device["name"], "kind": device["kind"], "kernel": host.get("kernel"), "driver": _text(details.get("driver_version")),
        "cuda": libraries.get("CUDA runtime"), "nccl": libraries.get("NCCL"), "roofmark": f"{build['version']} {build['commit'][:12]}"}
    if "team" not in result:
        uuid = _text(details.get("uuid"))
        return [common | {"gpu": uuid or f"{device['id']} of {host['name']}", "host": host["name"], "device": device["id"],
                          "slot": _text(details.get("pci_bus_id")) or device["id"], "serial": _text(details.get("serial")), "vbios": _text(details.get("vbios"))}]
    # Ranks may share a device. The kernel in the file is that of rank 0's host, and in older files the driver is too.
    names = [member.get("uuid") or f"{member['device_id']} of {member['host']}" for member in result["team"]]
    return [common | {"gpu": name if names.count(name) == 1 else f"{name}, rank {member['rank']}", "host": member["host"],
                      "device": member["device_id"], "slot": member.get("pci_bus_id") or member["device_id"], "rank": member["rank"], "model": member["device_name"],
                      "nccl": member["versions"].get("NCCL"), "vbios": member["versions"].get("vbios"), "serial": member.get("serial"),
                      **({} if member["host"] == host["name"] else {"driver": None, "kernel": None, "cuda": None}),
                      **({"driver": member["versions"]["driver"]} if "driver" in member["versions"] else {})}
            for name, member in zip(names, result["team"])]


_RANK = re.compile(r"rank (\d+) \(")  # as harness/measure/agreement.cpp names it in a reason


def _statuses(record, ranks):
    """Per rank, of a record without times per rank. roofmark-mpi names the ranks in the reason, of several that failed only one: what the
    file does not say of the others is not run."""
    if "rank_status" in record:
        return record["rank_status"]
    first, _, others = (record.get("reason") or "").partition("; also wrong: ")
    named = _RANK.match(first)
    if not named or record["status"] not in ("wrong", "failed"):
        return [record["status"]] * ranks
    at_fault = {int(named[1]), *(int(rank) for rank in _RANK.findall(others))}
    return [record["status"] if rank in at_fault else "not_run" for rank in range(ranks)]


def _throttled(found):
    """The largest share of time of a reason that lowered the clock."""
    return max(found["throttled_share"].values(), default=0.0) if "throttled_share" in found else None


_OF_POWER = ("power_watts", "joules_per_launch")
FIRST_DATE = "2025"  # no result is older
LEAST_POWER_SECONDS = 0.999  # kLeastPowerSeconds of harness/model/telemetry_summary.hpp: older files have the power of shorter cases too


def _state(found, telemetry):
    """What a device's telemetry tells of a case; `telemetry` is the record's."""
    told = {key: found.get(key) for key in (*_OF_POWER, "temperature_celsius", "memory_temperature_celsius")}
    if telemetry and telemetry["seconds"] < LEAST_POWER_SECONDS and "energy_joules" not in telemetry:
        told |= dict.fromkeys(_OF_POWER)
    return told


def _record_rows(entry, run, devices):
    """A record's rows: one per device that ran it by itself, or one of no device where the ranks communicate."""
    record = entry["roofmark"]
    measured, placed = record.get("measurement", {}), record.get("placement", {})
    telemetry = measured.get("telemetry")
    row = {
        "run": run, "case_name": entry["name"], "family": record["family"], "pass": record["pass"], "status": record["status"],
        "reason": record.get("reason"), "seconds": measured.get("median"), "cv": measured.get("cv"), "clock_hz": observed_clock(measured),
        **_state(telemetry or {}, telemetry), "throttled": telemetry and _throttled(telemetry),
        **{key: placed.get(key) for key in ("of_empirical", "of_theoretical", "of_theoretical_clock", "flops_per_second", "bytes_per_second",
                                            "bound_by")}}
    if "message" in record or "overlap" in record:
        return [row]
    if "ranks" not in measured and (len(devices) == 1 or record["status"] == "ok"):
        return [row | {"gpu": device["gpu"]} for device in devices]

    def without_times(device, status):
        reason = None if status == "ok" else record["notes"].get(f"rank {device['rank']}", record.get("reason"))
        return {key: row[key] for key in ("run", "case_name", "family", "pass")} | {"gpu": device["gpu"], "status": status, "reason": reason}

    if "ranks" not in measured:
        return [without_times(device, status) for device, status in zip(devices, _statuses(record, len(devices)))]
    rows = []
    for device in devices:
        own = measured["ranks"][device["rank"]]
        if not own:  # other ranks have a result
            rows.append(without_times(device, record["rank_status"][device["rank"]] if "rank_status" in record else "failed"))
        elif own["median"]:
            # The placement in the file is that of the slowest rank, at its clock. The scatter of a rank's samples is not in it.
            faster = measured["median"] / own["median"]
            conditions = {key: own.get(key) for key in ("cv", "clock_hz")} | _state(own, telemetry) | {"throttled": _throttled(own)}
            rows.append(row | {"gpu": device["gpu"], "seconds": own["median"], **conditions} | {
                key: row[key] * faster for key in ("of_empirical", "of_theoretical", "of_theoretical_clock", "flops_per_second", "bytes_per_second")
                if row[key] is not None} | ({} if own.get("clock_hz") == row["clock_hz"] else {"of_theoretical_clock": None}))
    return rows


def _fingerprint_rows(entry, run, devices):
    found = entry["roofmark"].get("fingerprint")
    if not found:
        return []
    differing = found.get("differing_ranks", [])
    times = entry["roofmark"].get("measurement", {}).get("ranks")
    if not times and len(devices) > 1 and entry["roofmark"]["status"] != "ok":  # the bits of one rank, which gave a wrong result
        return []
    return [{"run": run, "gpu": device["gpu"], "case_name": entry["name"], "key": found["key"],
             "hash": f"other bits, rank {device['rank']}" if device.get("rank") in differing else found["hash"]}
            for device in devices if not times or times[device["rank"]]]


LEVELS = ("good", "doubtful", "bad")
# Errors that are no fault of the device, and bits that differ, which are compared with those of the whole fleet.
NO_FAULTS = ("above_theoretical", "fingerprint")


def _judge_devices(result, devices, records):
    """Sets what a run's verdict means for each device: a cause that the file ascribes to some ranks is not the others'. A verdict that nothing
    in the file explains is that of all; if it is bad, it is taken for a fault."""
    level, cases = result["verdict"]["level"], {entry["name"] for entry in result["benchmarks"] + result["unmeasured"]}
    incomplete = not _complete(result) or "ended" in result or len(cases) < result["scope"]["cases"] or _lacks_chosen(result)
    not_passed = {row.get("gpu") for row in records if row["status"] not in ("ok", "unsupported")}  # None: of all
    hosts = Counter(device["host"] for device in devices)
    found = []
    for device in devices:
        own = [f for f in result["findings"] if f["doubt"] != "nothing" and ("ranks" not in f or device.get("rank") in f["ranks"])]
        faults = [f["text"] for f in own if f["severity"] == "error" and f["kind"] not in NO_FAULTS]
        differs = any(f["kind"] == "fingerprint" for f in own)
        found.append("bad" if faults or differs or incomplete or not_passed & {device["gpu"], None} else "doubtful" if own else "good")
        device |= {"alone": hosts[device["host"]] == 1, "fault": "; ".join(faults) if faults and level == "bad" else None}
    explained = max(map(LEVELS.index, found)) >= LEVELS.index(level)
    for device, own in zip(devices, found):
        device["level"] = min(own, level, key=LEVELS.index) if explained else level
        if not explained and level == "bad":
            device["fault"] = device["fault"] or result["verdict"]["headline"]


def _lacks_chosen(result):
    """Whether the run is bad because a case chosen by name, or every case but ceilings, is unsupported."""
    cases = [entry["roofmark"] for entry in result["benchmarks"] + result["unmeasured"] if "sets_ceiling" not in entry["roofmark"]]
    unsupported = [case for case in cases if case["status"] == "unsupported"]
    return bool(unsupported) and ("by_name" in result["scope"] or len(unsupported) == len(cases))


def _complete(result):
    return result["complete"] and not result["interrupted"]


def rows_of(result, run, file):
    """The rows of a result, per table."""
    devices = _device_rows(result, run)
    entries = result["benchmarks"] + result["unmeasured"]
    records = [row for entry in entries for row in _record_rows(entry, run, devices)]
    _judge_devices(result, devices, records)
    return {
        "runs": [{"run": run, "file": file, "started": _time(result["started_utc"]),
                  "headline": result["verdict"]["headline"], "changes": ", ".join(result["scope"]["changes"]), "complete": _complete(result),
                  "host": result["host"]["name"], **{key: result[key] for key in ("suite", "data", "labels")}}],
        "devices": devices,
        "records": records,
        "fingerprints": [row for entry in entries for row in _fingerprint_rows(entry, run, devices)],
        "ceilings": fleet_ceilings.ceiling_rows(result, run, devices, [key for key in TABLES["ceilings"][1] if key not in ("run", "gpu", "clock_share")]),
        "findings": [{"run": run, "case_name": f.get("case")} | {key: f.get(key) for key in ("kind", "severity", "text")} for f in result["findings"]],
    }


def _check(rows):
    """Raises ValueError where a value is not of its column's type."""
    for table, lines in rows.items():
        columns = TABLES[table][1]
        for row in lines:
            for name, value in row.items():
                kind = columns[name]
                if value is None:
                    continue
                fits = isinstance(value, _KINDS[kind]) and (kind == "BOOLEAN" or not isinstance(value, bool))
                if fits and kind == "DOUBLE":
                    fits = value == 0 or SMALLEST < abs(value) < LARGEST
                elif fits and kind == "INTEGER":
                    fits = abs(value) < 1 << 31
                elif fits and isinstance(value, dict):
                    fits = all(isinstance(inner, str) for inner in value.values())
                if not fits:
                    raise ValueError(f"its {name} is not of type {kind}: {str(value)[:40]}")


def verdict_rows(found, file, given=False):
    """The rows of a verdict of `roofmark accept`."""
    common = {"file": file, "judged": _time(found["judged_utc"])}
    _check_date("judged", found["judged_utc"])

    def gpu_of(label):
        uuid, device, host = evidence.parts_of(label)
        return uuid or f"{device} of {host}", host

    def row(subject, one, host=None, gpu=None):
        return common | {"given": given, "profile": found["profile"]["name"], "subject": subject, "host": host, "gpu": gpu} | {
            key: one[key] for key in ("verdict", "checks", "bad")}

    verdicts = [row("delivery", found["delivery"])] + [row("node", node, node["name"]) for node in found["nodes"]]
    for device in found["devices"]:
        gpu, host = gpu_of(device["name"])
        verdicts.append(row("gpu", device, host, gpu))
    return {"verdicts": verdicts, "checks": [
        common | {"host": check.get("node"), "gpu": gpu_of(check["device"])[0] if "device" in check else None, "case_name": check.get("of")} | {
            key: check.get(key) for key in TABLES["checks"][1] if key not in ("file", "judged", "host", "gpu", "case_name")} for check in found["checks"]]}


def read(path, run, file, given=False):
    """The rows of a file; raises ValueError with one line that says what is wrong."""
    try:
        data = read_file(path)
    except OSError as error:
        raise ValueError(error.strerror) from error

    def checked(rows):
        _check(rows)
        return rows

    if verdict.is_verdict(data):
        return checked(verdict_rows(verdict.parse(data), file, given))
    result, rows = evidence.read(data, lambda result: (result, checked(rows_of(result, run, file))))
    _check_date("started", result["started_utc"])
    digest = hashlib.sha256(data).hexdigest()
    check_sum(path, result, digest)
    rows["runs"][0]["sha256"] = digest
    return rows


def _read_some(files, folder, first):
    """Reads the files of one task and writes their rows; returns the path of each table's."""
    rows = {table: [] for table in TABLES}
    for run, (path, file, given) in enumerate(files, start=first):
        try:
            for table, lines in read(path, run, file, given).items():
                rows[table] += lines
        except NoResult as error:
            rows["left_out"].append({"file": file, "reason": str(error)})
        except ValueError as error:
            rows["unread"].append({"file": file, "reason": str(error)})
        except MemoryError:
            rows["unread"].append({"file": file, "reason": "too large for the memory"})
    paths = {}
    for table, lines in rows.items():
        if lines:
            paths[table] = f"{folder}/{table}-{first}.json"
            with open(paths[table], "wb") as out:
                out.writelines(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
    return paths


def _leave_out_copies(connection):
    connection.execute("CREATE TEMPORARY TABLE copies AS SELECT run, file, original FROM (SELECT run, file, "
                       "first_value(file) OVER (PARTITION BY sha256 ORDER BY file) AS original FROM runs) WHERE file <> original")
    connection.execute("INSERT INTO left_out SELECT file, 'a copy of ' || original FROM copies")
    for table, (_, columns) in TABLES.items():
        if "run" in columns:
            connection.execute(f"DELETE FROM {table} WHERE run IN (SELECT run FROM copies)")
    connection.execute("DROP TABLE copies")


def _quoted(text):
    return "'" + text.replace("'", "''") + "'"


def _shown(path):
    """A path as text, which a name of a file need not be."""
    return os.fsencode(path).decode("utf-8", "replace")


def load(folder, scratch, verdicts=()):
    """A DuckDB connection that has the tables of all result files and verdicts below the folder, and of the verdicts elsewhere; its own
    files are in `scratch`."""
    folder = Path(folder)
    if not folder.is_dir():
        raise Problem(BAD_INPUT, f"{folder} is not a folder")
    files = [(str(path), _shown(path.relative_to(folder))) for path in without_merged(sorted(folder.rglob("*.json"))) if path.is_file()]
    if not files:
        raise Problem(BAD_INPUT, f"{folder} holds no result file (*.json)")
    for path in verdicts:
        if not Path(path).is_file():
            raise Problem(BAD_INPUT, f"--verdict: there is no file {path}")
    given = set(map(os.path.realpath, verdicts))
    below = {os.path.realpath(path) for path, _ in files}
    files += [(path, _shown(path)) for path in verdicts if os.path.realpath(path) not in below]
    files = [(path, file, os.path.realpath(path) in given) for path, file in files]
    workers = min(os.cpu_count() or 1, len(files) // _FILES_PER_TASK + 1)
    # The processes are forked before DuckDB starts its threads. They make no cycles for the collector to find.
    with concurrent.futures.ProcessPoolExecutor(workers, multiprocessing.get_context("fork"), gc.disable) as pool:
        tasks = [pool.submit(_read_some, files[first:first + _FILES_PER_TASK], scratch, first)
                 for first in range(0, len(files), _FILES_PER_TASK)]
        connection = duckdb.connect(f"{scratch}/fleet.duckdb", config={"memory_limit": "1GB"})
        for table, (_, columns) in TABLES.items():
            connection.execute(f"CREATE TABLE {table} (" + ", ".join(f'"{name}" {kind}' for name, kind in columns.items()) + ")")
        for task in concurrent.futures.as_completed(tasks):
            for table, path in task.result().items():
                columns = ", ".join(f"{name}: {_quoted(kind)}" for name, kind in TABLES[table][1].items())
                connection.execute(f"INSERT INTO {table} SELECT * FROM read_json(?, format = 'newline_delimited', columns = {{{columns}}})",
                                   [path])
                Path(path).unlink()
    _leave_out_copies(connection)
    for path in sorted(folder.rglob("result.jsonl")):
        if not path.with_suffix(".json").exists():
            connection.execute("INSERT INTO unread VALUES (?, ?)", [_shown(path.relative_to(folder)), "the journal of a run without its result; `roofmark recover` rebuilds that"])
    if not connection.execute("SELECT count(*) FROM runs").fetchone()[0]:
        unread = connection.execute("SELECT * FROM (FROM unread UNION ALL FROM left_out) ORDER BY file").fetchone()
        file, reason = unread or (files[0][1], "a verdict, not a result")
        raise Problem(BAD_INPUT, f"none of {len(files)} files in {folder} can be read; {file}: {reason}")
    return connection
