# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""Who is slow among others, and who is slower than before. docs/method.md, "A fleet", states the rules; those of stragglers are harness/judge/ranks'."""

from . import units

SLOW = 1.1  # times the median
SLOW_OF_FEW = 1.25
MANY = 7
DEVIATIONS = 5
SIGMA_OF_MAD = 1.4826
LEAST_SLOW_CASES = 3  # of any scope: fewer are chance, whatever their share
SLOW_CASES = 0.05
BY_CHANCE = 2  # slow cases more: of a thousand healthy GPUs, some have as many
# Of few, also in cases that the device limits.
OFTEN_SLOW_CASES = 0.2
LEAST_CASES = 10
# Also, by more than SLOW_OF_FEW, in more than this share of the cases of one family or resource. Times of calls depend on the CPU, and those of links
# on who else uses them.
SLOW_CASES_OF_GROUP = 0.5
NO_GROUP = "cost"
# Resources that are not the device's own.
OUTSIDE = ("nvlink", "pcie", "interprocess", "network", "network_of_rank", "host_to_device", "device_to_host", "peer_in", "peer_out", "host_dram",
           "host_access", "peer_access", "stream_launch", "graph_launch")
RUNS_OF_LEVEL = 5  # consecutive ones: their median is a level that a GPU held
RUNS_BEFORE = 20  # earlier ones that count: of a speed that wanders, the best level of more runs lies ever further away
UPPER_QUARTILE = 1.1503  # of the absolute values of a standard normal distribution
FAST_PART = 3  # a faster group of at least 1 / 3 of all takes the median with it


def rows(connection, query, parameters=()):
    found = connection.execute(query, list(parameters))
    names = [column[0] for column in found.description]
    return [dict(zip(names, row)) for row in found.fetchall()]


# Per `what`: how many were compared, their centre, and their scaled deviation.
OF_ALL = f"SELECT what, count(*) AS n, median(seconds) AS m, {SIGMA_OF_MAD} * mad(seconds) AS s FROM of GROUP BY what"
# Scope: the name of its cases, which cases count, and when they are slow.
SCOPES = {"all": ("NULL", "true", "slow"), "device": ("NULL", "may_repeat", "stands_out"),
          "family": ("family", "may_group", "slow_of_group"), "resource": ("bound_by", "may_group AND bound_by IS NOT NULL", "slow_of_group")}


_MAY_GROUP = f"family <> '{NO_GROUP}' AND (alone OR coalesce(bound_by NOT IN {OUTSIDE}, false))"


def enough(scope, slow, cases):
    """Whether so many slow cases of a scope make a straggler: SQL for columns, or the answer for numbers."""
    return (f"{slow} >= {LEAST_SLOW_CASES} AND CASE {scope} WHEN 'all' THEN {slow} >= {BY_CHANCE} + {SLOW_CASES} * {cases} "
            f"WHEN 'device' THEN {cases} >= {LEAST_CASES} AND {slow} >= {OFTEN_SLOW_CASES} * {cases} "
            f"ELSE {slow} > {SLOW_CASES_OF_GROUP} * {cases} END")


def _scoped(table, columns):
    return " UNION ALL ".join(f"SELECT {columns}, '{scope}' AS scope, {name} AS name, {hit} AS hit FROM {table} WHERE {counts}"
                              for scope, (name, counts, hit) in SCOPES.items())


def stragglers(connection, values, only="true", centre=OF_ALL):
    """`values` selects who, what, said (its name for a reader), family, bound_by, alone (nothing else used the links) and seconds. The stragglers, the worst first, each by the scope that
    says most: many slow cases, and a large share of its cases. All are compared, and those that meet `only` are judged."""
    return rows(connection, f"""
        WITH of AS MATERIALIZED (SELECT * FROM ({values}) WHERE seconds > 0), centre AS ({centre}),
        compared AS MATERIALIZED (
          SELECT who, said, family, bound_by, seconds / m AS times, CASE WHEN s > 0 THEN (seconds - m) / s END AS mads,
                 times > {SLOW} AND (s = 0 OR mads > {DEVIATIONS}) AS stands_out,
                 n < {MANY} AND bound_by IS NOT NULL AND bound_by NOT IN {OUTSIDE} AS may_repeat,
                 stands_out AND (n >= {MANY} OR times > {SLOW_OF_FEW}) AS slow, {_MAY_GROUP} AS may_group,
                 stands_out AND times > {SLOW_OF_FEW} AS slow_of_group
          FROM of JOIN centre USING (what) WHERE n > 2 AND m > 0 AND {only}),
        of_slow AS MATERIALIZED (SELECT * FROM compared WHERE who IN (SELECT who FROM compared WHERE stands_out)),
        scoped AS ({_scoped("of_slow", "who, said, times, mads")}),
        counted AS (SELECT who, scope, name, count(*) AS cases, count(*) FILTER (hit) AS slow, max(times) FILTER (hit) AS times,
                           arg_max(said, times) FILTER (hit) AS said, arg_max(mads, times) FILTER (hit) AS mads FROM scoped GROUP BY ALL)
        SELECT * FROM counted WHERE {enough("scope", "slow", "cases")}
        QUALIFY row_number() OVER (PARTITION BY who ORDER BY slow * slow / cases DESC, scope) = 1
        ORDER BY times DESC, who""")


def of_scope(connection, found):
    """What follows a number of cases: " of attention"."""
    if found["scope"] == "resource":
        title = connection.execute("SELECT any_value(title) FROM ceilings WHERE resource = ?", [found["name"]]).fetchone()[0]
        return f" limited by {title or found['name'].replace('_', ' ')}"
    return {"all": "", "device": " that the device limits", "family": f" of {found['name']}"}[found["scope"]]


def says(connection, found, than, of="the median"):
    """The text of a straggler."""
    mads = f", {found['mads']:.0f} MADs above it" if found["mads"] is not None else ""
    return (f"slower than {than} in {found['slow']} of {found['cases']} cases{of_scope(connection, found)}; the worst takes {units.digits(found['times'])} "
            f"times {of}{mads}: {found['said']}")


# Per device and case, in the order of runs.
HISTORY = """
    SELECT gpu AS who, concat_ws(' ', gpu, case_name, pass, runs.data, alone) AS what, case_name AS said, family, bound_by, true AS alone, seconds, started
    FROM records JOIN runs USING (run) JOIN devices USING (run, gpu) WHERE status = 'ok' AND seconds > 0
    QUALIFY row_number() OVER (PARTITION BY what, started ORDER BY run DESC) = 1"""


def slower_than_before(connection, history=HISTORY):
    """The stragglers by their newest value of each `what`, compared with the lowest median of consecutive ones of the last earlier. The deviation is from the
    upper quartile of the differences between successive earlier values: one step does not widen it, a GPU that often changes does."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE history AS SELECT *, row_number() OVER (PARTITION BY what ORDER BY started) AS place, "
                       f"count(*) OVER (PARTITION BY what) AS runs FROM (SELECT * FROM ({history}) QUALIFY row_number() OVER "
                       f"(PARTITION BY what ORDER BY started DESC) <= {RUNS_BEFORE + 1}) QUALIFY runs > 2")
    return stragglers(connection, "SELECT * FROM history WHERE place = runs", centre=f"""
        WITH earlier AS (
          SELECT what, runs, place, median(seconds) OVER (w ROWS BETWEEN {RUNS_OF_LEVEL - 1} PRECEDING AND CURRENT ROW) AS level,
                 abs(seconds - lag(seconds) OVER w) AS step FROM history WHERE place < runs WINDOW w AS (PARTITION BY what ORDER BY place))
        SELECT what, runs AS n, min(level) FILTER (place >= least({RUNS_OF_LEVEL}, runs - 1)) AS m, quantile_cont(step, 0.75) / ({UPPER_QUARTILE} * sqrt(2)) AS s
        FROM earlier GROUP BY what, runs""")


def two_groups(connection, values):
    """Where all fall into a slower group that is too large to stand out and a faster one, or into two: the members of both, the cases and the usual ratio;
    the most cases first. `values` as for stragglers()."""
    return rows(connection, f"""
        WITH of AS MATERIALIZED (SELECT * FROM ({values}) WHERE seconds > 0),
        ordered AS (SELECT *, row_number() OVER w AS place, count(*) OVER (PARTITION BY what) AS n, lead(seconds) OVER w / seconds AS gap
                    FROM of WINDOW w AS (PARTITION BY what ORDER BY seconds, who)),
        cut AS (SELECT what, n, arg_max(place, gap) AS fast, max(gap) AS gap FROM ordered
                WHERE CASE n WHEN 2 THEN place = 1 ELSE place > 1 AND {FAST_PART} * place >= n AND 2 * place <= n END
                GROUP BY what, n HAVING max(gap) > CASE WHEN n = 2 OR n >= {MANY} THEN {SLOW} ELSE {SLOW_OF_FEW} END),
        part AS (SELECT what, who, seconds, place <= fast AS fast, median(seconds) OVER (PARTITION BY what, place <= fast) AS m
                 FROM ordered JOIN cut USING (what, n)),
        split AS MATERIALIZED (
          SELECT what, list(who ORDER BY who) FILTER (fast) AS fast, list(who ORDER BY who) FILTER (NOT fast) AS slow, max(m) / min(m) AS times
          FROM part GROUP BY what HAVING max(m) - min(m) > {DEVIATIONS * SIGMA_OF_MAD} * median(abs(seconds - m))),
        kept AS MATERIALIZED (SELECT fast AS fast_ones, slow AS slow_ones, fast[1] AS one, median(times) AS times FROM split GROUP BY fast, slow
                              HAVING count(*) >= {LEAST_SLOW_CASES}),
        own AS (SELECT fast_ones, slow_ones, kept.times, family, bound_by, split.what IS NOT NULL AS slow, split.what IS NOT NULL AS stands_out, false AS may_repeat,
                       {_MAY_GROUP} AS may_group, split.what IS NOT NULL AS slow_of_group
                FROM kept JOIN of ON who = one LEFT JOIN split ON split.what = of.what AND split.fast = fast_ones AND split.slow = slow_ones),
        scoped AS ({_scoped("own", "fast_ones, slow_ones, times")}),
        counted AS (SELECT fast_ones, slow_ones, times, scope, name, count(*) AS cases, count(*) FILTER (hit) AS slow FROM scoped GROUP BY ALL)
        SELECT * FROM counted WHERE {enough("scope", "slow", "cases")}
        QUALIFY row_number() OVER (PARTITION BY fast_ones, slow_ones ORDER BY slow * slow / cases DESC, scope) = 1 ORDER BY slow DESC, slow_ones""")
