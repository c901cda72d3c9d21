# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The page of a fleet: what stands out first, then the distributions."""

from . import fleet_judge, fleet_stragglers, library, plots, units
from .report import template
from .tables import quantity, table

LISTED = 500  # rows of a table at most, the worst first
DRAWN = 12  # GPUs in the plot of the history


def _share_of(value):
    return quantity(value, units.share)


def _times(value):
    return quantity(value, lambda v: "" if v is None else units.digits(v, 4))


def _names(values, count=6):
    return ", ".join(values[:count]) + (f" and {len(values) - count} more" if len(values) > count else "")


def _groups(connection):
    found = fleet_judge.rows(connection, """
        WITH relative AS (SELECT newest.grp, exp(avg(ln(seconds / median))) AS times FROM newest JOIN centres USING (what)
                          WHERE status = 'ok' AND seconds > 0 GROUP BY newest.grp),
        least AS (SELECT grp, min(share / floor) AS share, arg_min(title, share / floor) AS title, arg_min(share, share / floor) AS reached
                  FROM newest_ceilings WHERE share IS NOT NULL AND floor IS NOT NULL GROUP BY grp)
        SELECT gpus.grp, count(DISTINCT host) AS hosts, count(*) AS gpus, any_value(times) AS times, any_value(title) AS title,
               any_value(reached) AS reached
        FROM gpus LEFT JOIN relative ON relative.grp IS NOT DISTINCT FROM gpus.grp LEFT JOIN least ON least.grp IS NOT DISTINCT FROM gpus.grp
        GROUP BY gpus.grp ORDER BY times DESC NULLS LAST""")
    return table("groups", [
        ("Group", "Value of --by", False), ("Hosts", "", True), ("GPUs", "", True),
        ("Time / median", "Geometric mean over the cases of time / median of the model; above 1 is slower", True),
        ("Nearest to its floor", "The measured ceiling nearest to the floor of healthy GPUs", False),
        ("of theoretical", "Lowest measured / theoretical ceiling of that resource, at the observed clock", True)],
        [[row["grp"] or "(no label)", str(row["hosts"]), str(row["gpus"]), _times(row["times"]), row["title"] or "", _share_of(row["reached"])]
         for row in found[:LISTED]])


_CEILINGS = """
    SELECT {group} resource, any_value(title) AS title, any_value(unit) AS unit, count(*) AS count, median(empirical) AS median, min(share) AS least,
           quantile_cont(share, 0.25) AS q1, median(share) AS middle, quantile_cont(share, 0.75) AS q3, max(share) AS most,
           arg_min(gpu, empirical) AS slowest, any_value(floor) AS floor, count(*) FILTER (share < floor AND NOT doubtful) AS below
    FROM newest_ceilings WHERE empirical IS NOT NULL GROUP BY ALL ORDER BY unit, title"""


def _ceilings(connection):
    found = fleet_judge.rows(connection, _CEILINGS.format(group="model,"))
    return table("ceilings", [
        ("Resource", "", False), ("Model", "", False), ("GPUs", "", True), ("Median", "Of the measured ceilings", True),
        ("of theoretical", "Median of measured / theoretical, at the observed clock", True), ("lowest", "The lowest of these", True),
        ("Floor", "Healthy GPUs reach at least this share", True), ("below", "GPUs under the floor", True), ("Slowest", "UUID", False)],
        [[row["title"], row["model"], str(row["count"]), quantity(row["median"], units.rate, row["unit"]), _share_of(row["middle"]), _share_of(row["least"]),
          _share_of(row["floor"]), str(row["below"]) if row["floor"] and row["middle"] is not None else "", row["slowest"]] for row in found])


def _acceptance(connection):
    """Hosts that `roofmark accept` did not accept."""
    found = fleet_judge.rows(connection, """
        SELECT host, verdict, profile, judged, bad, checks, (SELECT list(DISTINCT rule ORDER BY rule) FROM newest_checks
               WHERE newest_checks.host = newest_verdicts.host AND mandatory AND newest_checks.verdict <> 'PASS') AS rules
        FROM newest_verdicts WHERE subject = 'node' AND verdict <> 'PASS' ORDER BY bad DESC, host""")
    return table("acceptance", [
        ("Host", "", False), ("Verdict", "Of roofmark accept", False), ("Profile", "", False), ("Judged", "UTC", False), ("Checks that do not pass", "Mandatory ones", True),
        ("of", "", True), ("Rules", "", False)],
        [[row["host"], row["verdict"], row["profile"], f"{row['judged']:%Y-%m-%d %H:%M}", str(row["bad"]), str(row["checks"]), _names(row["rules"] or [])]
         for row in found[:LISTED]])


def _ceilings_plot(connection, by):
    """A box per group and resource: share of the theoretical ceiling; the floors as marks."""
    found = [row for row in fleet_judge.rows(connection, _CEILINGS.format(group="grp,")) if row["middle"] is not None]
    if not found:
        return None
    worst = {}
    for row in found:
        worst[row["grp"]] = min(worst.get(row["grp"], 9e9), row["least"] / (row["floor"] or 1))
    groups = sorted(worst, key=worst.get)[:len(plots.COLOURS) - 2]
    titles = list(dict.fromkeys(row["title"] for row in found))
    traces = []
    for i, group in enumerate(sorted(groups, key=str)):
        rows = [row for row in found if row["grp"] == group]
        traces.append({
            "type": "box", "name": plots.text(f"{by} {group}"), "x": [plots.text(row["title"]) for row in rows],
            "lowerfence": [100 * row["least"] for row in rows], "q1": [100 * row["q1"] for row in rows],
            "median": [100 * row["middle"] for row in rows], "q3": [100 * row["q3"] for row in rows],
            "upperfence": [100 * row["most"] for row in rows], "marker": {"color": plots.COLOURS[i]}, "line": {"width": 1.4}})
    floors = {row["title"]: row["floor"] for row in found if row["floor"]}
    traces.append({"type": "scatter", "mode": "markers", "name": "floor of healthy GPUs", "x": [plots.text(title) for title in floors],
                   "y": [100 * floor for floor in floors.values()],
                   "marker": {"symbol": "line-ew-open", "size": 26, "color": "#b3261e", "line": {"width": 2}}, "hovertemplate": "floor %{y:.0f} %<extra></extra>"})
    x = plots.axis("", type="category", dtick=None, tickformat="", categoryorder="array", categoryarray=[plots.text(title) for title in titles])
    y = plots.axis("measured / theoretical", type="linear", dtick=None, tickformat="", ticksuffix=" %", rangemode="tozero")
    return {"data": traces, "layout": plots.layout(x, y, 460, boxmode="group", legend={"orientation": "h", "y": 1.02, "yanchor": "bottom"})}


def _cases(connection):
    found = fleet_judge.rows(connection, f"""
        SELECT * FROM centres WHERE count > 1 ORDER BY maximum / median DESC LIMIT {LISTED}""")
    several = len({row["model"] for row in found}) > 1
    return table("cases", [
        ("Case", "", False), ("Model", "", False), ("GPUs", "", True), ("Median", "Of the GPUs' medians", True),
        ("p5", "5 % of the GPUs are faster", True), ("p95", "5 % of the GPUs are slower", True),
        ("Spread", "Scaled median absolute deviation / median", True), ("Slowest / median", "", True), ("Slowest", "UUID", False)],
        [[row["case_name"] + (" (after)" if row["pass"] == 2 else "") + ("" if row["data"] == "normal" else f" ({row['data']})"),
          row["model"] if several else "", str(row["count"]),
          quantity(row["median"], units.seconds), quantity(row["p5"], units.seconds), quantity(row["p95"], units.seconds),
          quantity(row["spread"] / row["median"], units.share), _times(row["maximum"] / row["median"]), row["slowest"]] for row in found],
        empty=False)


_HISTORY = """
    WITH own AS (SELECT gpu, run, started, concat_ws(' ', case_name, pass, runs.data, alone) AS what, seconds
                 FROM records JOIN runs USING (run) JOIN devices USING (run, gpu) WHERE status = 'ok' AND seconds > 0),
    middle AS (SELECT gpu, what, median(seconds) AS m FROM own GROUP BY gpu, what HAVING count(DISTINCT run) > 1)
    SELECT gpu, run, started, exp(avg(ln(seconds / m))) AS times FROM own JOIN middle USING (gpu, what) GROUP BY ALL"""


def _history(connection):
    """The table, and the plot of the GPUs that changed most."""
    found = fleet_judge.rows(connection, f"""
        WITH history AS ({_HISTORY})
        SELECT history.gpu, list_sort(list_distinct(list(devices.host))) AS hosts, count(*) AS runs, min(started) AS first, max(started) AS last,
               arg_max(times, started) AS newest, min(times) AS fastest, max(times) AS slowest,
               list(struct_pack(started, times) ORDER BY started) AS points
        FROM history JOIN devices ON devices.run = history.run AND devices.gpu = history.gpu
        GROUP BY history.gpu ORDER BY newest DESC""")
    if not found:
        return None, None
    rows = table("history", [
        ("GPU", "UUID", False), ("Hosts", "Where it was measured", False), ("Runs", "", True), ("First", "", False), ("Newest", "", False),
        ("Newest / its median", "Geometric mean over the cases; above 1 is slower", True), ("fastest run", "", True), ("slowest run", "", True)],
        [[row["gpu"], _names(row["hosts"]), str(row["runs"]), f"{row['first']:%Y-%m-%d %H:%M}", f"{row['last']:%Y-%m-%d %H:%M}",
          _times(row["newest"]), _times(row["fastest"]), _times(row["slowest"])] for row in found[:LISTED]])
    changed = sorted(found, key=lambda row: row["slowest"] / row["fastest"], reverse=True)[:DRAWN]
    traces = [{"type": "scatter", "mode": "lines+markers", "name": plots.text(row["gpu"]), "line": {"color": plots.COLOURS[i % len(plots.COLOURS)]},
               "x": [point["started"].isoformat() for point in row["points"]], "y": [point["times"] for point in row["points"]]}
              for i, row in enumerate(changed)]
    x = plots.axis("", type="date", dtick=None, tickformat="")
    y = plots.axis("time / its own median", type="linear", dtick=None, tickformat="")
    return rows, {"data": traces, "layout": plots.layout(x, y, 380, showlegend=True)}


def page(connection, by, folder):
    """The page as HTML."""
    suspects = fleet_judge.rows(connection, "SELECT * FROM suspects")
    kinds = [(fleet_judge.words(kind), meaning, [suspect for suspect in suspects if suspect["kind"] == kind])
             for kind, (_, meaning) in fleet_judge.KINDS.items()]
    hosts = fleet_judge.rows(connection, "SELECT * FROM hosts")
    counted = {verdict: sum(host["verdict"] == verdict for host in hosts) for verdict in ("good", "bad", "not measured")}
    judged = sum(host["acceptance"] is not None for host in hosts)
    accepted = (sum(host["acceptance"] == "PASS" for host in hosts), judged, len(hosts) - judged) if judged else None
    unread = fleet_judge.rows(connection, "SELECT file, reason FROM unread ORDER BY file")
    left_out = fleet_judge.rows(connection, "SELECT file, reason FROM left_out ORDER BY file")
    runs, first, last = connection.execute("SELECT count(*), min(started), max(started) FROM runs").fetchone()
    figures = {name: made for name, made in (("ceilings-plot", _ceilings_plot(connection, by)),) if made}
    history, history_plot = _history(connection)
    if history_plot:
        figures["history-plot"] = history_plot
    drift, of_two = fleet_judge.drift(connection), fleet_judge.of_two(connection, by)
    if counted["bad"]:
        level, headline = "bad", f"{units.plural(counted['bad'], 'host')} of {len(hosts)} {'is' if counted['bad'] == 1 else 'are'} bad"
    elif suspects or unread:
        level, headline = "warn", "No host is bad, but " + ("something stands out" if suspects else f"{units.plural(len(unread), 'file')} could not be read")
    elif any(differ for _, differ in of_two):
        level, headline = "warn", "No host is bad, but two differ"
    else:
        level, headline = "good", "Nothing stands out"
    return template("fleet.html.j2").render(
        level=level, headline=headline, kinds=[kind for kind in kinds if kind[2]], counted=counted, by=by, folder=str(folder),
        gpus=connection.execute("SELECT count(*) FROM gpus").fetchone()[0], runs=runs, first=f"{first:%Y-%m-%d}", last=f"{last:%Y-%m-%d}",
        models=connection.execute("SELECT model, count(*) FROM gpus GROUP BY model ORDER BY ALL").fetchall(),
        hosts=table("hosts", [("Host", "", False), ("Verdict", "", False), ("Acceptance", "", False), ("Reasons", "", False)],
                    [[host["host"], host["verdict"], host["acceptance"] or ("not judged" if accepted else ""), " · ".join(host["reasons"][:6]) + (f" · {len(host['reasons']) - 6} more" if len(host["reasons"]) > 6 else "")]
                     for host in hosts if host["verdict"] != "good"][:LISTED], empty=False),
        accepted=accepted, acceptance=_acceptance(connection), unread=unread, left_out=left_out, groups=_groups(connection), ceilings=_ceilings(connection), cases=_cases(connection), listed=LISTED, shown=12,
        drift=table("drift", [("Version of", "", False), ("Model", "", False), ("Majority", "", False), ("Differs", "", False), ("GPUs", "", True),
                              ("of", "", True), ("Hosts", "", False)],
                    [[row["what"], row["model"], row["majority"] or "none", row["version"], str(row["gpus"]), str(row["of_all"]), _names(row["hosts"])] for row in drift]),
        history=history, has_history_plot=bool(history_plot), findings=connection.execute(
            "SELECT kind, severity, count(DISTINCT run), count(*) FROM findings GROUP BY kind, severity ORDER BY 3 DESC, kind").fetchall(),
        plural=units.plural, rules=fleet_stragglers, of_two=[line for line, _ in of_two], has_ceilings_plot="ceilings-plot" in figures, figures=library.elements(figures))
