# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Summarises the result files of a delivery: nodes, devices, software, findings, and cases not measured."""

from . import facts, telemetry, units
from .evidence import device_key, key_of, parts_of, short_of
from .result import counts, rank_of_finding, rank_of_status
from .tables import table

# What a result says of a device, as (title, key in its details, form).
DETAILS = (
    ("Serial number", "serial", str), ("VBIOS", "vbios", str), ("PCI bus", "pci_bus_id", str),
    ("Power limit", "power_limit_watts", units.watts), ("ECC", "ecc", lambda on: "on" if on else "off"),
)


def _identities(result):
    """(UUID, id, host) of the device of each rank; a device that measured alone is rank 0."""
    device = result["device"]
    uuid = str(device["details"].get("uuid", "")) if device["kind"] == "cuda" else ""
    return ([(member.get("uuid", ""), member["device_id"] + ("" if member.get("uuid") else f", rank {member['rank']}"), member["host"]) for member in result.get("team", [])]
            or [(uuid, device["id"], result["host"]["name"])])


def keys(result):
    """The key of each rank's device."""
    return [device_key(*identity) for identity in _identities(result)]


def _devices(result):
    """The devices of a result by their keys: a device per rank of a team, else the one of the run."""
    device = result["device"]
    told = [(member["device_name"], member["versions"] | member) for member in result.get("team", [])] or [(device["name"], device["details"])]
    return {device_key(uuid, device_id, host): {"host": host, "name": name, "uuid": uuid} | {
        key: details.get(key) for _, key, _ in DETAILS} for (uuid, device_id, host), (name, details) in zip(_identities(result), told)}


def _hosts(result):
    """What a result says of its hosts, by name. Of a team's, rank 0's host is described and the others are named."""
    host = result["host"]
    details = host.get("details", {})
    cpuinfo = details.get("cpuinfo", {})
    of_device = result["device"]["details"]
    hosts = {host["name"]: {
        "processor": host.get("cpu"), "cores": host["cores"], "sockets": details.get("packages"), "memory": units.size(host.get("memory_bytes")),
        "system": host.get("os"), "kernel": host.get("kernel"), "driver": of_device.get("driver_version"), "microcode": cpuinfo.get("microcode")}}
    for member in result.get("team", []):
        ports = [f"{nic['name']} ({nic['kind']}{', ' + units.link_rate(nic['bytes_per_second']) if 'bytes_per_second' in nic else ''})"
                 for nic in member["nics"]]
        known = hosts.setdefault(member["host"], {})
        known["ports"] = ", ".join(ports)
        known["driver"] = known.get("driver") or member["versions"].get("driver")
    return hosts


def _software(result):
    left_out = {"host", "processor", "host memory", "command", "suite", "operands", "started", "finished", "result file"}
    pairs = [(name, value) for name, value in facts.run_facts(result, "") if name not in left_out]
    ranks = sorted({(name, version) for member in result.get("team", []) for name, version in member["versions"].items()})
    return pairs + [(f"{name} of the ranks", version) for name, version in ranks] + sorted(result["environment"].items())


def places(result):
    """What a reader calls the device of each rank."""
    return [short_of(*identity) for identity in _identities(result)]


def where(result):
    """The device of a result, or how many there are on how many nodes."""
    named = set(_identities(result))
    hosts = {host for _, _, host in named}
    return short_of(*named.pop()) if len(named) == 1 else f"{units.plural(len(named), 'device')} of {units.plural(len(hosts), 'node')}"


def summary(result, digest):
    """What an acceptance document needs of a result, without its records."""
    devices = _devices(result)
    hosts = sorted({device["host"] for device in devices.values()})
    return {
        "sha256": digest, "where": where(result), "devices": devices, "hosts": _hosts(result), "software": _software(result), "nodes": hosts,
        "command": " ".join(result["arguments"]), "suite": result["suite"], "operands": facts.operands(result),
        "started": result["started_utc"], "finished": result.get("finished_utc", ""), "labels": result["labels"],
        "ok": counts(result)["ok"], "findings": result["findings"],
        "unmeasured": list(dict.fromkeys((entry["roofmark"]["status"], entry["roofmark"].get("reason", "no reason recorded"), entry["name"])
                                         for entry in result["unmeasured"])),  # both passes of a ceiling are one case
        **telemetry.summary(result, places(result))}


def merged(parts):
    """One dictionary of many, without what is unknown."""
    made = {}
    for part in parts:
        made |= {key: value for key, value in part.items() if value not in (None, "")}
    return made


def known(files):
    """What the files say of each device, by its key."""
    made = {}
    for key, device in ((key, device) for file in files for key, device in file["devices"].items()):
        made[key] = merged([made.get(key, {}), device])
    return made


def hosts_table(files, verdicts):
    """A row per node; `verdicts` has each node's."""
    titles = (("Processor", "processor"), ("Sockets", "sockets"), ("Logical cores", "cores"), ("Memory", "memory"), ("System", "system"), ("Kernel", "kernel"),
              ("Driver", "driver"), ("CPU microcode", "microcode"), ("Network ports", "ports"))
    rows = []
    for name, verdict in verdicts.items():
        known = merged(file["hosts"].get(name, {}) for file in files)
        rows.append([name, *(str(known.get(key, "")) for _, key in titles), verdict])
    return table("nodes", [("Node", "", False), *((title, "", False) for title, _ in titles), ("Verdict", "", False)], rows, empty=False)


def devices_table(files, verdicts):
    """A row per device; `verdicts` has each device's, by its label."""
    rows, devices = [], known(files)
    for label, verdict in verdicts.items():
        device = devices.get(key_of(label), {})
        rows.append([device.get("host", label), parts_of(label)[1], device.get("name", ""), device.get("uuid", ""),
                     *(form(device[key]) if key in device else "" for _, key, form in DETAILS), verdict])
    return table("devices", [(title, "", False) for title in ("Node", "Device", "Model", "UUID", *(title for title, _, _ in DETAILS), "Verdict")], rows, empty=False)


def software(files):
    """(name, text) of each version and setting; where they differ, each value with how many results have it."""
    found = {}
    for file in files:
        for name, value in file["software"]:
            values = found.setdefault(name, {})
            values[value] = values.get(value, 0) + 1
    made = []
    for name, values in found.items():
        missing = len(files) - sum(values.values())
        several = [f"{value} (in {count} of {len(files)} results)" for value, count in values.items()]
        made.append((name, next(iter(values)) if len(values) == 1 and missing <= 0 else "; ".join(several)))
    return made


def conditions(files):
    """How the results were made: each distinct value once."""
    def distinct(key, shown=4):
        values = list(dict.fromkeys(file[key] for file in files))
        return "; ".join(values[:shown]) + (f"; and {len(values) - shown} more" if len(values) > shown else "")

    started, finished = min(file["started"] for file in files), max(file["finished"] for file in files)
    labels = list(dict.fromkeys(f"{key}: {value}" for file in files for key, value in file["labels"].items()))
    return facts.facts([
        ("suite", distinct("suite")), ("operands", distinct("operands")), ("command", distinct("command")),
        ("measured", f"{started} to {finished}" if finished else f"from {started}; no run finished"), ("labels", "; ".join(labels))])


def grouped(pairs):
    """(what, where) pairs by what: [(what, how often, where, each once)], in the order of `pairs`."""
    groups = {}
    for what, where in pairs:
        groups.setdefault(what, []).append(where)
    return [(what, len(places), list(dict.fromkeys(places))) for what, places in groups.items()]


def findings(files):
    """The findings by severity and kind: what a kind means, and each text with where it was found."""
    kinds = {}
    for file in files:
        for finding in file["findings"]:
            where = file["where"] + (f": {finding['case']}" if "case" in finding else "")
            kinds.setdefault((rank_of_finding(finding), finding["severity"], finding["kind"].replace("_", " "), finding["advice"]), []).append(
                (finding["text"], where))
    return [{"severity": severity, "kind": kind, "advice": advice, "count": len(found), "texts": grouped(found)}
            for (_, severity, kind, advice), found in sorted(kinds.items())]


def unmeasured(files):
    """Cases without a measurement: (status, reason, how many, cases each once, results each once)."""
    groups = {}
    for file in files:
        for status, reason, case in file["unmeasured"]:
            count, cases, places = groups.setdefault((status, reason), (0, {}, {}))
            groups[status, reason] = (count + 1, cases | {case: 1}, places | {file["where"]: 1})
    return [(status.replace("_", " "), reason, count, list(cases), list(places))
            for (status, reason), (count, cases, places) in sorted(groups.items(), key=lambda item: rank_of_status(item[0][0]))]


def not_looked_for(files):
    """Kinds of evidence that no result holds."""
    made = []
    if not any(len(file["nodes"]) > 1 for file in files):
        made.append(("Links between nodes", "no result of several nodes together (roofmark-mpi collectives)"))
    if not any(file["sustained"] for file in files):
        made.append(("Sustained load", "no result has a sustained case: every rate was measured over seconds, not hours"))
    if not any(file["telemetry"] for file in files):
        made.append(("Clock, power and temperature over time", "no result has telemetry over the whole run"))
    if all(counter["id"].startswith(("network_", "host_")) for file in files for counter, _ in file["counters"]):
        made.append(("Error counters of the device", "no result has counters from before and after the run"))
    return made
