# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The newest state of a fleet in Prometheus' text format. Every metric is a gauge."""

# Series with these labels may be compared.
_CASE = "model, data, concat_ws(' ', case_name, CASE WHEN pass = 2 THEN '(after)' END, CASE WHEN NOT alone THEN '(together)' END) AS \"case\""
_CHOSEN = "regexp_matches(case_name, $cases)"
_OF_CASE = "SELECT host, gpu AS uuid, " + _CASE + ", {} AS value FROM newest WHERE status = 'ok' AND " + _CHOSEN + " ORDER BY ALL"
_OF_CEILING = "SELECT host, gpu AS uuid, model, resource, unit, {} AS value FROM newest_ceilings ORDER BY ALL"
_OF_GPU = "SELECT host, gpu AS uuid, model, {} AS value FROM gpus ORDER BY ALL"
_ACCEPTED = "SELECT {0}profile, verdict, (verdict = 'PASS')::INTEGER AS value FROM newest_verdicts WHERE subject = '{1}' ORDER BY ALL"
# Several results of one GPU may be judged by the same rule: a series has one value.
_OF_CHECK = "SELECT host, gpu AS uuid, rule, case_name AS \"case\", {} AS value FROM newest_checks GROUP BY host, gpu, rule, case_name ORDER BY ALL"

# Name: help, and a query whose last column is the value and whose others are the labels.
METRICS = {
    "roofmark_case_seconds": ("Median time per launch.", _OF_CASE.format("seconds")),
    "roofmark_case_of_empirical_ratio": ("Minimum time on the measured ceilings / measured time.", _OF_CASE.format("of_empirical")),
    "roofmark_case_of_theoretical_ratio": ("Minimum time on the theoretical ceilings / measured time.", _OF_CASE.format("of_theoretical")),
    "roofmark_case_clock_hertz": ("SM clock during the blocks.", _OF_CASE.format("clock_hz")),
    "roofmark_case_temperature_celsius": ("Highest temperature of the device during the case.", _OF_CASE.format("temperature_celsius")),
    "roofmark_case_power_watts": ("Mean power during the case.", _OF_CASE.format("power_watts")),
    "roofmark_case_joules": ("Energy per launch.", _OF_CASE.format("joules_per_launch")),
    "roofmark_case_ok": ("1: measured and verified; 0: wrong, failed or not run.",
                         "SELECT host, gpu AS uuid, " + _CASE + ", (status = 'ok')::INTEGER AS value FROM newest WHERE status <> 'unsupported' AND " + _CHOSEN + " ORDER BY ALL"),
    "roofmark_ceiling_per_second": ("Measured ceiling of a resource, in its unit per second.", _OF_CEILING.format("empirical")),
    "roofmark_ceiling_of_theoretical_ratio": ("Measured ceiling / theoretical ceiling.", _OF_CEILING.format("share")),
    "roofmark_gpu_run_timestamp_seconds": ("When the newest run of a GPU began.", _OF_GPU.format("epoch(started)")),
    "roofmark_host_good": ("1: the host is good; 0: it is bad, or was not measured.",
                           "SELECT host, verdict, (verdict = 'good')::INTEGER AS value FROM hosts ORDER BY ALL"),
    "roofmark_host_accepted": ("1: `roofmark accept` accepted the host; 0: not.", _ACCEPTED.format("host, ", "node")),
    "roofmark_gpu_accepted": ("1: `roofmark accept` accepted the GPU; 0: not.", _ACCEPTED.format("host, gpu AS uuid, ", "gpu")),
    "roofmark_check_passed": ("1: every check of the rule on this case passed; 0: not.", _OF_CHECK.format("min((verdict = 'PASS')::INTEGER)")),
    "roofmark_check_margin_ratio": ("Distance to the limit of a rule / the limit; negative on the bad side.", _OF_CHECK.format("min(margin)")),
    "roofmark_suspects": ("What stands out in the fleet, per kind.", "SELECT kind, count(*) AS value FROM suspects GROUP BY kind ORDER BY ALL"),
}


def _escaped(value):
    return str(value).replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def exposition(connection, cases=""):
    """The parts of the text, in order; of cases, those in whose names the expression is found."""
    for name, (says, query) in METRICS.items():
        yield f"# HELP {name} {says}\n# TYPE {name} gauge\n"
        found = connection.execute(query, {"cases": cases} if _CHOSEN in query else {})
        labels = [column[0] for column in found.description][:-1]
        while rows := found.fetchmany(10_000):
            for *values, value in rows:
                if value is not None:
                    named = ",".join(f'{label}="{_escaped(text)}"' for label, text in zip(labels, values) if text is not None)
                    yield f"{name}{{{named}}} {float(value)!r}\n"
