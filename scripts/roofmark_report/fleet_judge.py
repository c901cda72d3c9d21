# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Finds what stands out in a fleet. docs/method.md, "A fleet", states the rules."""

import itertools

from . import fleet_heat, units
from .fleet_stragglers import OUTSIDE, SIGMA_OF_MAD, SLOW, of_scope, rows, says, slower_than_before, stragglers, two_groups
from .program import BAD_INPUT, Problem

# Shares of the theoretical ceiling at the observed clock that every healthy GPU exceeds; a board with a low power limit does not hold the highest.
FLOORS = {"dram": 0.75, "fma": 0.75, "exp": 0.75, "shared": 0.75, "fp4_tensor": 0.3, "int8_tensor": 0.2, "tensor": 0.5}
FLOOR_OF = "CASE " + " ".join(
    f"WHEN resource = '{kind}' OR contains(resource, '_{kind}') THEN {floor}" for kind, floor in FLOORS.items()) + " END::DOUBLE"
VERSIONS = ("driver", "vbios", "nccl", "kernel", "cuda", "roofmark")
COLUMNS = ("host", "model", *VERSIONS)  # of devices, that --by may name beside labels

# Kind: the verdict on a host that it names, and what it says.
KINDS = {
    "wrong": ("bad", "The newest run of a case gave a wrong result."),
    "device_fault": ("bad", "The newest run of a suite reports a fault of the device, such as uncorrected memory errors."),
    "fingerprint": ("bad", "The same computation gave different bits, which points to silent data corruption."),
    "below_ceiling": ("bad", "A measured ceiling is far below the theoretical one: the device is slow, even if all others are too."),
    "slow_group": ("bad", "Its median time exceeds the groups' median."),
    "slow_host": ("bad", "Its median time exceeds the hosts' median."),
    "slow_gpu": ("bad", "It is slower than the GPUs of its model."),
    "slower_than_before": ("bad", "It is slower than in its own earlier runs: than the lowest median of five consecutive ones of the last 20."),
    "hot": ("good", "It is hotter than others that ran the same cases in the same place: check its cooling and airflow, before it slows down."),
    "more_energy": ("good", "It needs more energy than others for the same cases: more leakage, a higher voltage or more heat, if it is no slower."),
    "two_groups": ("good", "The values fall into two groups, and the slower one is no minority: comparison cannot tell whether it is slow or the others are fast."),
    "not_measured": ("not measured", "The newest run of a suite is incomplete or has another bad verdict, or a case failed: its host is in neither list."),
    "not_accepted": ("bad", "The newest verdict of `roofmark accept` on the host is FAIL."),
    "undecided": ("not measured", "The newest verdict of `roofmark accept` on the host is NOT MEASURED or INSIDE THE INTERVAL: it is in neither list."),
    "several_hosts": ("good", "Its runs are from several hosts: it was moved, or two GPUs have one UUID. It counts for the host of its newest run."),
    "drift": ("good", "Versions differ from those of most devices of the model, or no version has a majority."),
}

VIEWS = {
    "newest_verdicts": ("the newest verdict per GPU, node and delivery, of those that --verdict gives, else of all", """
        SELECT * FROM verdicts QUALIFY row_number() OVER (PARTITION BY subject, host, gpu ORDER BY given DESC, judged DESC, file) = 1"""),
    "newest_checks": ("the checks of the newest verdict per host", """
        SELECT checks.* FROM checks JOIN (SELECT DISTINCT file, host FROM newest_verdicts WHERE subject <> 'gpu') AS newest
        ON checks.file = newest.file AND checks.host IS NOT DISTINCT FROM newest.host"""),
    "gpus": ("one per GPU (or CPU): its newest run, its newest verdict as `acceptance`, and grp, the value of --by", """
        SELECT devices.*, runs.started, runs.complete, runs.changes, runs.labels, {by} AS grp,
               (SELECT any_value(verdict) FROM newest_verdicts AS v WHERE v.subject = 'gpu' AND v.gpu = devices.gpu AND v.host = devices.host) AS acceptance
        FROM devices JOIN runs USING (run)
        QUALIFY row_number() OVER (PARTITION BY gpu ORDER BY started DESC, run DESC) = 1"""),
    "standing": ("the runs of a GPU that no newer complete run of the same suite, whole or with the same changes, and alone or not, replaces; `judged`: the whole "
                 "suites among them, and the GPU's newest run", """
        SELECT d.run, d.gpu, gpus.host, d.level, d.fault, d.alone, runs.started, suite, runs.complete, runs.changes, headline,
               runs.changes = '' OR d.run = gpus.run AS judged
        FROM devices AS d JOIN runs USING (run) JOIN gpus USING (gpu)
        QUALIFY runs.started >= coalesce(greatest(max(runs.started) FILTER (runs.complete) OVER (PARTITION BY d.gpu, suite, d.alone, runs.changes),
                                                  max(runs.started) FILTER (runs.complete AND runs.changes = '') OVER (PARTITION BY d.gpu, suite, d.alone)),
                                         runs.started)"""),
    "newest": ("the newest record per GPU, case and pass, with its host and group; `what` is what may be compared", """
        SELECT records.*, gpus.host, gpus.model, gpus.grp, gpus.slot, runs.started, runs.data, devices.alone,
               concat_ws(' ', case_name, gpus.model, runs.data, CASE WHEN pass = 2 THEN '(after)' END, CASE WHEN NOT devices.alone THEN '(together)' END) AS what
        FROM records JOIN runs USING (run) JOIN devices USING (run, gpu) JOIN gpus USING (gpu)
        QUALIFY row_number() OVER (PARTITION BY gpu, case_name, pass ORDER BY runs.started DESC, records.run DESC) = 1"""),
    "newest_ceilings": ("the newest ceiling per GPU and resource, its share of the theoretical one at the observed clock, and the floor of that share", f"""
        SELECT ceilings.*, gpus.host, gpus.model, gpus.grp, empirical / theoretical / coalesce(clock_share, 1) AS share, {FLOOR_OF} AS floor
        FROM ceilings JOIN runs USING (run) JOIN gpus USING (gpu)
        QUALIFY row_number() OVER (PARTITION BY gpu, resource ORDER BY runs.started DESC, ceilings.run DESC) = 1"""),
    "centres": ("per `what`: its count, median and scaled MAD of the GPUs", f"""
        SELECT what, any_value(case_name) AS case_name, any_value(pass) AS pass, any_value(model) AS model, any_value(data) AS data,
               count(*) AS count, median(seconds) AS median, {SIGMA_OF_MAD} * mad(seconds) AS spread,
               quantile_cont(seconds, 0.05) AS p5, quantile_cont(seconds, 0.95) AS p95, max(seconds) AS maximum, arg_max(gpu, seconds) AS slowest
        FROM newest WHERE status = 'ok' AND seconds > 0 GROUP BY what"""),
    **fleet_heat.VIEWS,
}


def of_label(connection, by):
    """The SQL of the value that --by names: a column of devices, or a label of the runs."""
    if by in COLUMNS:
        return f"devices.{by}"
    known = [key for (key,) in connection.execute("SELECT DISTINCT unnest(map_keys(labels)) AS key FROM runs ORDER BY key").fetchall()]
    if by not in known:
        raise Problem(BAD_INPUT, f"--by: no run has the label '{by}'; there are {', '.join([*COLUMNS, *known])}")
    return "labels['" + by.replace("'", "''") + "']"


def prepare(connection, by):
    """Makes the tables that follow from those of the files."""
    by = of_label(connection, by)
    for name, (_, query) in VIEWS.items():
        connection.execute(f"CREATE TABLE {name} AS {query.replace('{by}', by)}")


def words(kind):
    return kind.replace("_", " ").replace("gpu", "GPU")


# Of groups, hosts or GPUs. Of an even number of members the faster of the two in the middle: where half are slow, the members are and not the whole.
_MEDIANS_OF = """SELECT {0} AS who, what, any_value(said) AS said, any_value(family) AS family, any_value(bound_by) AS bound_by, any_value(alone) AS alone,
                 quantile_disc(seconds, 0.5) AS seconds FROM {1} WHERE {0} IS NOT NULL GROUP BY who, what"""
_TIMES = "(SELECT *, what AS what_of_gpu, case_name AS said FROM newest WHERE status = 'ok')"
_MEDIANS = _MEDIANS_OF.format("{0}", _TIMES)


def _hosts_of_group(connection, grp, table):
    """The hosts that, in half and more of the cases in which the group is slow, are nearer to its time than to that of all groups."""
    return {host for (host,) in connection.execute(f"""
        WITH groups AS ({_MEDIANS_OF.format("grp", table)}), centre AS (SELECT what, median(seconds) AS m FROM groups GROUP BY what),
        slow AS (SELECT what, sqrt(seconds * m) AS between FROM groups JOIN centre USING (what) WHERE who = ? AND seconds > {SLOW} * m)
        SELECT of.who FROM ({_MEDIANS_OF.format("host", table)}) AS of JOIN slow USING (what) WHERE of.who IN (SELECT host FROM gpus WHERE grp = ?)
        GROUP BY of.who HAVING 2 * count(*) FILTER (of.seconds > between) >= count(*)""", [grp, grp]).fetchall()}


def _stand_out(connection, by, kinds, table, text, of_gpus):
    """Groups, hosts and GPUs that stand out by the values of `table`; what a group or a host explains is not said of its members."""
    several = "who IN (SELECT {0} FROM gpus GROUP BY {0} HAVING count(*) > 1)"
    made, explained = [], set()
    of_group, of_host, of_gpu = kinds
    if by != "host":
        for found in stragglers(connection, _MEDIANS_OF.format("grp", table), several.format("grp")):
            hosts = _hosts_of_group(connection, found["who"], table)
            explained |= hosts
            made.append((of_group, f"{by} {found['who']}", hosts, found["times"], text(connection, found, "the median of the groups")))
    for found in stragglers(connection, _MEDIANS_OF.format("host", table), several.format("host")):
        if found["who"] not in explained:
            explained.add(found["who"])
            made.append((of_host, found["who"], {found["who"]}, found["times"], text(connection, found, "the median of the hosts")))
    for found in stragglers(connection, f"SELECT gpu AS who, what_of_gpu AS what, said, family, bound_by, alone, seconds FROM {table}"):
        host = _host_of(connection, found["who"])
        if host not in explained:
            made.append((of_gpu, found["who"], {host}, found["times"], text(connection, found, of_gpus)))
    return made


def _host_of(connection, gpu):
    return connection.execute("SELECT host FROM gpus WHERE gpu = ?", [gpu]).fetchone()[0]


def _slow(connection, by):
    """Slow groups, hosts and GPUs, and GPUs that are slower than they were."""
    made = _stand_out(connection, by, ("slow_group", "slow_host", "slow_gpu"), _TIMES, says, "the median of the GPUs of its model")
    for found in slower_than_before(connection):
        gpu = found["who"]
        versions = connection.execute(f"SELECT {', '.join(f'count(DISTINCT {name})' for name in VERSIONS)} FROM devices WHERE gpu = ?", [gpu]).fetchone()
        changed = " and ".join(name for name, count in zip(VERSIONS, versions) if count > 1)
        text = says(connection, found, "in its earlier runs", "its best level then")
        made.append(("slower_than_before", gpu, {_host_of(connection, gpu)}, found["times"], text + (f"; between its runs, {changed} changed" if changed else "")))
    return made


def _hot(connection, by):
    """Groups, hosts and GPUs that are hotter, or need more energy."""
    return [suspect for kind, (table, text) in fleet_heat.MEASURES.items()
            for suspect in _stand_out(connection, by, (kind,) * 3, table, text, "the GPUs in its slot of other hosts")]


# Per level: its name, its column, and which values are compared. Of the GPUs of a host, some are nearer to a port or a CPU than others.
def _levels(by):
    grouped = [(by, "grp", "true")] if by != "host" else []
    return [*grouped, ("host", "host", "true"), ("GPU", "gpu", f"bound_by NOT IN {OUTSIDE}")]


def _of_model(connection, model):
    return f" ({model})" if connection.execute("SELECT count(DISTINCT model) FROM gpus").fetchone()[0] > 1 else ""


def _two_groups(connection, by):
    """By the widest level that shows it: half of the racks need not be named host by host."""
    for level, column, compared in _levels(by):
        made = []
        for found in two_groups(connection, f"SELECT * FROM ({_MEDIANS.format(column)}) WHERE {compared}"):
            if len(found["fast_ones"]) == 1:  # one of two
                continue
            hosts = {host for (host,) in connection.execute(f"SELECT host FROM gpus WHERE {column} IN (SELECT unnest(?))", [found["slow_ones"]]).fetchall()}
            slow = ", ".join(found["slow_ones"][:4]) + (f" and {len(found['slow_ones']) - 4} more" if len(found["slow_ones"]) > 4 else "")
            made.append(("two_groups", f"{len(found['slow_ones'])} of {len(found['slow_ones']) + len(found['fast_ones'])} {level}s", hosts, found["times"],
                         f"take {units.digits(found['times'])} times the time of the other {len(found['fast_ones'])} in {found['slow']} of {found['cases']} "
                         f"cases{of_scope(connection, found)}: {slow}"))
        if made:
            return made
    return []


def of_two(connection, by):
    """A line per model of which there are only two of something to compare."""
    for level, column, _ in _levels(by):
        counts = connection.execute(f"SELECT model, count(DISTINCT {column}) FROM gpus GROUP BY model ORDER BY model").fetchall()
        if all(count < 2 for _, count in counts):
            continue
        lines = []
        for model, count in counts:
            if count != 2:
                continue
            values = _MEDIANS.format(column).replace("WHERE", f"WHERE model = '{model.replace(chr(39), chr(39) * 2)}' AND")
            splits = two_groups(connection, values)
            differ = "; ".join(f"{split['slow_ones'][0]} takes {units.digits(split['times'])} times the time of {split['fast_ones'][0]} in {split['slow']} of "
                               f"{split['cases']} cases{of_scope(connection, split)}" for split in splits)
            lines.append((f"two {level}s{_of_model(connection, model)}: neither can be called slow" + (f"; {differ}" if differ else ""), bool(splits)))
        return lines
    return []


def _below_ceilings(connection, by):
    """GPUs under the floor of a resource; where it is half of a group and more, the group."""
    made = []
    for found in rows(connection, """
            WITH judged AS (SELECT *, share < floor AS below FROM newest_ceilings WHERE share IS NOT NULL AND floor IS NOT NULL AND NOT doubtful),
            counted AS (SELECT *, count(*) FILTER (below) OVER g AS low, count(*) OVER g AS of_all, median(share) OVER g AS middle
                        FROM judged WINDOW g AS (PARTITION BY grp, resource)),
            grouped AS (SELECT *, grp IS NOT NULL AND of_all > 1 AND 2 * low >= of_all AS together FROM counted)
            SELECT together, CASE WHEN together THEN grp ELSE gpu END AS who, list_distinct(list(host)) AS hosts, min(share / floor) AS least,
                   count(DISTINCT resource) AS resources, arg_min(title, share / floor) AS title, arg_min(floor, share / floor) AS floor,
                   arg_min(low, share / floor) AS low, arg_min(of_all, share / floor) AS of_all, arg_min(share, share / floor) AS share,
                   arg_min(middle, share / floor) AS middle
            FROM grouped WHERE below GROUP BY together, who"""):
        who = found["who"] if not found["together"] or by == "host" else f"{by} {found['who']}"
        many = f"{found['low']} of {found['of_all']} GPUs are below, median {units.share(found['middle'])}, lowest " if found["together"] else ""
        more = f"; {found['resources'] - 1} more below their floors" if found["resources"] > 1 else ""
        made.append(("below_ceiling", who, found["hosts"], 1 / found["least"],
                     f"{found['title']}: {many}{units.share(found['share'])} of the theoretical ceiling at the observed clock, floor {units.share(found['floor'])}{more}"))
    return made


def _fingerprints(connection):
    """Of the newest run per GPU, case and key: a GPU that was repaired is not bad for what it did before. Launches that differ among themselves are one
    group of their own; where no group is larger, the operation may be so."""
    return [("fingerprint", found["gpu"], found["hosts"], found["differ"],
             f"other bits than {'most' if found['majority'] else 'others (any may be wrong)'} in {found['differ']} of "
             f"{found['of_all']} cases: {found['first']}{', ...' if found['differ'] > 1 else ''}")
            for found in rows(connection, """
                WITH newest_prints AS (
                  SELECT fingerprints.* FROM fingerprints JOIN runs USING (run)
                  QUALIFY rank() OVER (PARTITION BY gpu, case_name, key ORDER BY runs.started DESC, fingerprints.run DESC) = 1),
                counted AS (SELECT *, count(*) OVER (PARTITION BY case_name, key, hash) AS same, count(*) OVER p AS n, count(*) FILTER (hash = '') OVER p AS varying
                            FROM newest_prints WINDOW p AS (PARTITION BY case_name, key)),
                largest AS (SELECT *, max(same) OVER (PARTITION BY case_name, key) AS most FROM counted),
                judged AS (SELECT largest.*, host, 2 * most > n AS m, 2 * same <= n AND varying < most AS other FROM largest JOIN gpus USING (gpu))
                SELECT gpu, list_distinct(list(host)) AS hosts, count(*) FILTER (other) AS differ, count(*) AS of_all,
                       min(case_name) FILTER (other) AS first, bool_and(m) FILTER (other) AS majority
                FROM judged GROUP BY gpu HAVING count(*) FILTER (other) > 0 ORDER BY differ DESC, gpu""")]


def _run(found):
    """A run as a reader would name it."""
    return f"{found['suite']} run of {found['started']:%Y-%m-%d %H:%M}"


def _not_good(connection, named):
    """Wrong results, faults of the device, and what was not measured; the bad verdict of a GPU that is `named` needs no other reason. An older run
    counts until one of its suite replaces it: a short run after a fault does not make a host good."""
    made, named, not_measured = [], set(named), {}
    for found in rows(connection, """
            SELECT gpu, host, count(*) AS n, min(case_name) AS first, arg_min(reason, case_name) AS reason FROM newest WHERE status = 'wrong'
            GROUP BY gpu, host ORDER BY n DESC, gpu"""):
        named.add(found["gpu"])
        made.append(("wrong", found["gpu"], {found["host"]}, found["n"], f"{found['n']} wrong: {found['first']}: {found['reason']}"))
    failed = dict(connection.execute("SELECT gpu, count(*) FROM newest WHERE status = 'failed' GROUP BY gpu").fetchall())
    runs = rows(connection, "SELECT * FROM standing ORDER BY gpu, started DESC, run DESC")
    for gpu, of_gpu in itertools.groupby(runs, key=lambda run: run["gpu"]):
        own = list(of_gpu)
        if faulty := [run for run in own if run["fault"]]:
            named.add(gpu)
            made.append(("device_fault", gpu, {own[0]["host"]}, len(faulty), "; ".join(f"{_run(run)}: {run['fault']}" for run in faulty)))
        judged = [run for run in own if run["judged"]]
        cut_off = [f"{_run(run)}, incomplete" + (f": {run['headline']}" if run["level"] == "bad" else "") for run in judged if not run["complete"]]
        parts = cut_off[:1] + ([units.plural(failed[gpu], "case failed", "cases failed")] if gpu in failed else [])
        if not parts and gpu not in named:
            parts = [f"{_run(run)}, verdict bad: {run['headline']}" for run in judged if run["level"] == "bad"][:1]
        if parts:
            # Of GPUs that were measured together, the run's verdict is the same.
            not_measured.setdefault((", ".join(parts), gpu if gpu in failed else None), []).append((gpu, own[0]["host"]))
    for (text, failing), gpus in not_measured.items():
        who = gpus[0][0] if len(gpus) == 1 else f"{len(gpus)} GPUs"
        made.append(("not_measured", who, {host for _, host in gpus}, failed.get(failing, 0), text))
    return made


def _several_hosts(connection):
    """A host whose only GPUs were seen elsewhere since is in no list."""
    kept = {host for (host,) in connection.execute("SELECT DISTINCT host FROM gpus").fetchall()}
    made = []
    for found in rows(connection, """
            WITH seen AS (SELECT gpu, list_sort(list_distinct(list(host))) AS hosts FROM devices GROUP BY gpu HAVING count(DISTINCT host) > 1)
            SELECT gpu, hosts, gpus.host AS newest FROM seen JOIN gpus USING (gpu) ORDER BY gpu"""):
        gone = [host for host in found["hosts"] if host not in kept]
        made.append(("several_hosts", found["gpu"], set(found["hosts"]), len(found["hosts"]),
                     f"on {', '.join(found['hosts'])}; newest: {found['newest']}" + (f"; in neither list: {', '.join(gone)}" if gone else "")))
    return made


def _not_accepted(connection):
    """Hosts whose newest verdict is another than PASS, each with the check that is furthest from passing."""
    return [("not_accepted" if found["verdict"] == "FAIL" else "undecided", found["host"], {found["host"]}, found["bad"],
             f"{units.plural(found['bad'], 'mandatory check')} of {found['checks']} by profile {found['profile']} without a pass"
             + (f"; {found['rule']}: {found['found']}, expected {found['expected']}" if found["rule"] else ""))
            for found in rows(connection, """
                SELECT v.host, any_value(v.verdict) AS verdict, any_value(v.bad) AS bad, any_value(v.checks) AS checks, any_value(v.profile) AS profile,
                       arg_min(c.rule, coalesce(c.margin, -1e9)) AS rule, arg_min(c.found, coalesce(c.margin, -1e9)) AS found,
                       arg_min(c.expected, coalesce(c.margin, -1e9)) AS expected
                FROM newest_verdicts AS v LEFT JOIN newest_checks AS c ON c.host = v.host AND c.verdict = v.verdict AND c.mandatory
                WHERE v.subject = 'node' AND v.verdict <> 'PASS' AND v.host IN (SELECT host FROM gpus)
                GROUP BY v.host ORDER BY any_value(v.bad) DESC, v.host""")]


def drift(connection):
    """Per model and version that most GPUs do not have: who has it, and the majority's version, null where no version has one."""
    return rows(connection, f"""
        WITH v AS (UNPIVOT (SELECT model, gpu, host, {', '.join(VERSIONS)} FROM gpus) ON {', '.join(VERSIONS)} INTO NAME what VALUE version),
        counted AS (SELECT model, what, version, count(*) AS gpus, list_sort(list_distinct(list(host))) AS hosts FROM v GROUP BY ALL),
        ranked AS (SELECT *, sum(gpus) OVER w AS of_all, count(*) OVER w AS versions FROM counted WINDOW w AS (PARTITION BY model, what))
        SELECT model, what, max(version) FILTER (2 * gpus > of_all) OVER (PARTITION BY model, what) AS majority, version, gpus, of_all, hosts
        FROM ranked WHERE versions > 1 QUALIFY version IS DISTINCT FROM majority ORDER BY model, what, gpus DESC, version""")


def judge(connection, by):
    """Makes the tables `suspects` (what stands out, the worst first in each kind) and `hosts` (with a verdict)."""
    differing = _fingerprints(connection)
    made = differing + _not_good(connection, [gpu for _, gpu, *_ in differing]) + _not_accepted(connection) + _several_hosts(connection)
    made += _below_ceilings(connection, by) + _slow(connection, by) + _hot(connection, by) + _two_groups(connection, by)
    for found in drift(connection):
        made.append(("drift", f"{found['what']} {found['version']}", found["hosts"], found["gpus"],
                     f"{found['gpus']} of {found['of_all']} GPUs ({found['model']}); {'no version has the majority' if found['majority'] is None else 'the majority has ' + found['majority']}"))
    order = list(KINDS)
    made.sort(key=lambda row: (order.index(row[0]), -row[3]))
    connection.execute("CREATE TABLE suspects (kind VARCHAR, who VARCHAR, hosts VARCHAR[], verdict VARCHAR, text VARCHAR)")
    if made:
        connection.executemany("INSERT INTO suspects VALUES (?, ?, ?, ?, ?)",
                               [(kind, who, sorted(hosts), KINDS[kind][0], text) for kind, who, hosts, _, text in made])
    connection.execute("""
        CREATE TABLE hosts AS
        WITH unsure AS (SELECT DISTINCT host, 'the verdict of its newest ' || suite || ' run is ' || level || ': ' || headline AS reason
                        FROM standing WHERE judged AND level = 'doubtful'
                        UNION SELECT DISTINCT host, 'its newest run is no whole suite: ' || changes FROM gpus WHERE changes <> ''),
        named AS (SELECT kind, verdict, who || ': ' || text AS reason, unnest(hosts) AS host FROM suspects
                  UNION ALL SELECT 'unsure', 'not measured', reason, host FROM unsure)
        SELECT gpus.host, any_value(grp) AS grp, count(*) AS gpus, max(started) AS newest,
               CASE WHEN gpus.host IN (SELECT host FROM named WHERE named.verdict = 'bad') THEN 'bad'
                    WHEN gpus.host IN (SELECT host FROM named WHERE named.verdict = 'not measured') THEN 'not measured' ELSE 'good' END AS verdict,
               (SELECT any_value(verdict) FROM newest_verdicts WHERE subject = 'node' AND newest_verdicts.host = gpus.host) AS acceptance,
               (SELECT list(reason) FROM named WHERE named.host = gpus.host AND kind <> 'drift') AS reasons
        FROM gpus GROUP BY gpus.host ORDER BY gpus.host""")
