# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The latency of accesses: over their range, from each SM, and beside other work."""

import math

from . import plots, units


def ladder_points(ladder):
    """The sizes, seconds per access and cases of a ladder."""
    points = ladder["points"]
    return [p["bytes"] for p in points], [p["seconds"] for p in points], [p["case"] for p in points]


def level_name(level):
    return f"{level['resource']} ({level['step']})" if level["step"] > 1 else level["resource"]


def names_of(drawn, by_name):
    """By the records of their first points."""
    return [plots.within_family(one["series"], by_name[one["points"][0]["case"]]) for one in drawn]


def ladders(result, entries):
    """Latency over the range of the accesses, with the levels that were found; None where no entry counts accesses over a range."""
    by_name = {entry["name"]: entry for entry in entries}
    drawn = [ladder for ladder in result.get("ladders", ()) if all(p["case"] in by_name for p in ladder["points"])]
    if not drawn:
        return None
    names = names_of(drawn, by_name)
    traces, shapes, annotations = [], [], []
    for ladder, name in zip(drawn, names):
        xs, ys, cases = ladder_points(ladder)
        colour = plots.colour_of(name, names)
        traces.append(plots.records_trace(
            name, [by_name[case] for case in cases], xs, ys, mode="lines+markers" if len(xs) > 1 else "markers",
            line={"color": colour, "width": 1.2, "dash": "dot"}, marker={"color": colour, "size": 6}))
        for level in ladder["levels"]:
            said = f"{level_name(level)}: {units.seconds(level['seconds'])}" + (f", {level['cycles']:.1f} cycles" if "cycles" in level else "")
            traces.append(plots.line(said, [level["smallest_bytes"], level["largest_bytes"]], [level["seconds"]] * 2, said,
                                     line={"color": colour, "width": 3}))
            if "beyond_bytes" not in level:
                continue
            knee = math.sqrt(level["largest_bytes"] * level["beyond_bytes"])
            shapes.append({"type": "line", "xref": "x", "yref": "paper", "x0": knee, "x1": knee, "y0": 0, "y1": 1,
                           "line": {"color": colour, "width": 1, "dash": "dash"}})
            annotations.append({"x": math.log10(knee), "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False,
                                "yshift": 13 * (len(annotations) % 2), "text": f"{units.size(level['largest_bytes'])} to "
                                f"{units.size(level['beyond_bytes'])}", "font": {"size": 11, "color": plots.CEILING}})
    xs = [p["bytes"] for ladder in drawn for p in ladder["points"]]
    ys = [p["seconds"] for ladder in drawn for p in ladder["points"]]
    return {"data": traces, "layout": plots.layout(
        plots.axis("range of the accesses, B", range=plots.decades(xs)), plots.time_axis("time per access", ys, range=plots.decades(ys)), 540,
        shapes=shapes, annotations=annotations, showlegend=len(drawn) > 1, margin={"l": 84, "r": 24, "t": 70, "b": 56})}


def cycles(point):
    return f", {point['cycles']:.1f} cycles" if "cycles" in point else ""


def of_series(result, key, entries):
    """Of a derived list of the result those series whose cases are all among the entries, and the entries by name."""
    by_name = {entry["name"]: entry for entry in entries}
    return [one for one in result.get(key, ()) if all(p["case"] in by_name for p in one["points"])], by_name


def over_sms(result, entries):
    """Latency from each SM, the nearest first, with the levels that were found; None where no case names an SM."""
    drawn, by_name = of_series(result, "sm_latencies", entries)
    if not drawn:
        return None
    names = names_of(drawn, by_name)
    traces = []
    for one, name in zip(drawn, names):
        colour = plots.colour_of(name, names)
        points = sorted(one["points"], key=lambda point: point["seconds"])
        traces.append(plots.records_trace(
            name, [by_name[p["case"]] for p in points], list(range(1, len(points) + 1)), [p["seconds"] for p in points],
            marker={"color": colour, "size": 6}))
        first = 1
        for level in one["levels"]:
            last = first + len(level["sms"]) - 1
            said = f"{units.plural(len(level['sms']), 'SM')}: {units.seconds(level['seconds'])}{cycles(level)}"
            traces.append(plots.line(said, [first - 0.4, last + 0.4], [level["seconds"]] * 2, said, line={"color": colour, "width": 3}))
            first = last + 1
    ys = [p["seconds"] for one in drawn for p in one["points"]]
    return {"data": traces, "layout": plots.layout(
        plots.axis("SMs, the nearest first", type="linear", dtick=None, tickformat="d"),
        plots.time_axis("time per access", ys, type="linear", dtick=None, rangemode="tozero"), 380, showlegend=len(drawn) > 1)}


def loaded(result, entries):
    """Latency over what the rest of the device moves; None where no case has a background."""
    drawn, by_name = of_series(result, "loaded_latencies", entries)
    if not drawn:
        return None
    names = names_of(drawn, by_name)
    traces, backgrounds = [], {}
    for one, name in zip(drawn, names):
        colour = plots.colour_of(name, names)
        points = sorted(one["points"], key=lambda point: point["background_per_second"])
        backgrounds[one["background"]] = None
        traces.append(plots.records_trace(
            name, [by_name[p["case"]] for p in points], [p["background_per_second"] for p in points], [p["seconds"] for p in points],
            mode="lines+markers", line={"color": colour, "width": 1.6}, marker={"color": colour, "size": 6}))
    titles = {c["resource"]: c["title"] for c in result["ceilings"]}
    what = ", ".join(titles.get(background, background) for background in backgrounds)
    ys = [p["seconds"] for one in drawn for p in one["points"]]
    return {"data": traces, "layout": plots.layout(
        plots.axis(f"{what}: other SMs read, B/s", type="linear", dtick=None, rangemode="tozero"),
        plots.time_axis("time per access", ys, type="linear", dtick=None, rangemode="tozero"), 420, showlegend=len(drawn) > 1)}
