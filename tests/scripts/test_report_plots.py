# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""What the plots of a report draw."""
import copy

from conftest import need

need("jinja2", "orjson", "plotly", "tree_sitter_javascript")
from roofmark_report import family_plots, roofline_plot, tables  # noqa: E402


def with_atomic_additions(h200):
    """With the ceiling of atomic additions, a case of them, and one of strides."""
    work = {"phases": [[{"resource": "global_atomic", "unit": "op", "amount": 1e9}]]}
    old = next(entry for entry in h200["benchmarks"] if entry["name"].startswith("stream/copy/"))
    record = old["roofmark"] | {"family": "access", "operation": "atomic_add", "type": "int32", "work": work}
    placement = {"bound_by": "global_atomic", "flops_per_second": 1e12, "of_empirical": 0.5, "t_min_seconds": 5e-4}
    atomic = old | {"name": "access/atomic_add/int32/space:global/per:warp/impl:own", "roofmark": record | {"placement": placement}}
    stride = old | {"name": "access/stride/int32/bytes:1073741824/stride:4/impl:own/cache:cold",
                    "roofmark": old["roofmark"] | {"family": "access", "operation": "stride", "type": "int32"}}
    ceiling = {"resource": "global_atomic", "title": "atomic additions to global memory", "unit": "op", "doubtful": False, "empirical": 2e12, "first": 2e12,
               "first_by": "ceilings/atomic_add/int32/space:global/per:warp/impl:own"}
    return h200 | {"benchmarks": [*h200["benchmarks"], atomic, stride], "ceilings": [*h200["ceilings"], ceiling]}, atomic, stride


def test_atomic_additions_are_no_roof_of_arithmetic(h200):
    result, _, _ = with_atomic_additions(h200)
    drawn = roofline_plot.roofline(result)
    assert not [trace["name"] for trace in drawn["data"] if "atomic" in trace["name"]]
    made = tables.ceilings_table(result)
    ridge = [title for title, *_ in made["columns"]].index("Ridge, FLOP/B")
    ridges = {row[1][0]: row[ridge][0] for row in made["rows"]}
    assert ridges["global_atomic"] == "" and ridges["fp32_fma"] and ridges["int8_tensor"]


def test_the_plot_of_streams_has_no_dip_beside_a_cache(h200):
    entry = copy.deepcopy(next(entry for entry in h200["benchmarks"] if entry["name"].startswith("stream/triad/")))
    size, median = int(entry["roofmark"]["shape"]["bytes"]), entry["roofmark"]["measurement"]["median"]
    entry["roofmark"]["placement"]["bytes_per_second"] = size / 16 / median  # of DRAM, where L2 keeps the rest
    drawn = family_plots.stream(h200, [entry])["data"]
    assert [trace["y"] for trace in drawn if trace.get("meta") == "records"] == [[size / median]]


def product(h200, **shape):
    """A product of this shape."""
    old = next(entry for entry in h200["benchmarks"] if entry["name"].startswith("gemm/bf16/"))
    made = copy.deepcopy(old)
    made["roofmark"]["notes"].pop("shape of", None)
    made["roofmark"]["shape"] = {key: str(value) for key, value in ({"impl": "cublaslt", "layout": "tn", "algo": "tuned", "cache": "cold"} | shape).items()}
    made["name"] = "gemm/bf16/" + "/".join(f"{key}:{value}" for key, value in made["roofmark"]["shape"].items())
    return made


def test_batches_are_not_on_the_line_of_single_products(h200):
    squares = [product(h200, m=n, n=n, k=n) for n in (256, 1024)] + [product(h200, batch=1, m=512, n=512, k=512)]
    batches = [product(h200, batch=b, m=n, n=n, k=n) for b, n in ((4096, 64), (256, 256))]
    drawn = {trace["name"]: trace for trace in family_plots.gemm_squares(h200, squares + batches)["data"] if "tuned" in trace["name"]}
    assert {name: (trace["x"], trace["mode"]) for name, trace in drawn.items()} == {
        "bf16, cublaslt tuned": ([256, 512, 1024], "lines+markers"), "bf16, cublaslt tuned, batches": ([64, 256], "markers")}
    layers = [product(h200, batch=b, m=4096, n=n, k=1024) for b in (8, 16) for n in (16, 64)] + [product(h200, m=4096, n=16, k=1024)]
    drawn = family_plots.gemm_projections(h200, layers)["data"]
    assert [(trace["name"].partition(":")[0], trace["x"]) for trace in drawn] == [
        ("batch 8, m 4096, k 1024", [16, 64]), ("batch 16, m 4096, k 1024", [16, 64]), ("m 4096, k 1024", [16])]
    assert len({trace["line"]["color"] for trace in drawn}) == 3


def test_other_outputs_are_not_on_the_line_of_plain_products(h200):
    squares = [product(h200, m=n, n=n, k=n) for n in (256, 1024)] + [product(h200, m=512, n=512, k=512, out="fp32")]
    drawn = {trace["name"]: trace["x"] for trace in family_plots.gemm_squares(h200, squares)["data"] if "tuned" in trace["name"]}
    assert drawn == {"bf16, cublaslt tuned": [256, 1024], "bf16, cublaslt tuned, out:fp32": [512]}
    scaled = family_plots.gemm_squares(h200, squares + [product(h200, m=512, n=512, k=512, scale="blk128")])["data"]
    assert [trace["x"] for trace in scaled if trace["name"].endswith("scale:blk128")] == [[512]]
    fused = {"epilogue": "bias_gelu"}
    layers = [product(h200, m=4096, n=n, k=1024, **words) for words in ({}, fused, fused | {"act": "separate"}) for n in (16, 64)]
    drawn = family_plots.gemm_projections(h200, layers)["data"]
    assert [(trace["name"], trace["x"], trace["line"]["dash"]) for trace in drawn] == [
        ("m 4096, k 1024: bf16, cublaslt tuned", [16, 64], "solid"),
        ("m 4096, k 1024: bf16, cublaslt tuned, epilogue:bias_gelu", [16, 64], "dot"),
        ("m 4096, k 1024: bf16, cublaslt tuned, epilogue:bias_gelu, act:separate", [16, 64], "dot")]
    assert len({trace["line"]["color"] for trace in drawn}) == 1, "of the same weights"
    of_d = [product(h200, m=4096, n=16, k=1024, out="fp32", **words) for words in ({}, {"beta": 1})]
    uneven = [product(h200, batch=8, m=4096, n=16, k=1024, **words) for words in ({}, {"imbalance": 4})]
    assert [trace["name"].partition("tuned")[2] for trace in family_plots.gemm_projections(h200, of_d + uneven)["data"]] == [
        ", out:fp32", ", out:fp32, beta:1", "", ", imbalance:4"]


def test_our_own_products_have_lines_of_their_own(h200):
    squares = [product(h200, m=n, n=n, k=n, impl=impl) for impl in ("cublaslt", "tiled_wgmma") for n in (256, 1024)]
    layers = [product(h200, m=4096, n=n, k=1024, impl=impl) for impl in ("cublaslt", "tiled_wgmma") for n in (16, 64)]
    for drawn in (family_plots.gemm_squares(h200, squares)["data"], family_plots.gemm_projections(h200, layers)["data"]):
        lines = {trace["name"].partition("bf16, ")[2]: trace["line"]["dash"] for trace in drawn if "tuned" in trace["name"]}
        assert lines == {"cublaslt tuned": "solid", "tiled_wgmma tuned": "dashdot"}


def test_a_family_has_a_plot_for_each_unit_of_its_rates(h200):
    result, atomic, stride = with_atomic_additions(h200)
    drawn = [figure for figure, _ in family_plots.of_family("access", result, [atomic, stride])]
    assert [len(figure["data"][0]["x"]) for figure in drawn] == [1, 1]
    assert ["op/s" in str(figure["layout"]) for figure in drawn] == [True, False] and "B/s" in str(drawn[1]["layout"])
    assert "FLOP/s" not in str([figure["layout"] for figure in drawn])
