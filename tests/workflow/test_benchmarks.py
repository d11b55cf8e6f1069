"""The benchmarks' own arithmetic: verdicts, exponents, estimates, the tables of docs/performance.md."""

import argparse
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def importable(monkeypatch):
    """The benchmarks are scripts in a folder of their own, and set one thread for whoever imports them."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        monkeypatch.setenv(name, "1")


def test_a_ratio_is_judged_by_its_sense():
    from timing import Row

    faster, slower = Row("a", "b", 1.0, 50.0, "s", 40.0), Row("a", "b", 1.0, 50.0, "s", 60.0)
    assert (faster.ratio, faster.reached, slower.reached) == (50.0, True, False)
    small, large = (Row("a", "b", x, 10.0, "MB", 0.6, "at most") for x in (5.0, 7.0))
    assert (small.ratio, small.reached, large.reached) == (0.5, True, False)
    assert Row("a", "b", 1.0, 2.0, "s").reached is None


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_exponent_is_that_of_the_upper_decade(order):
    from growth import exponent

    sizes = [10, 100, 1000, 3162, 10_000]
    assert exponent(sizes, [7.0 + 0 * n if n < 1000 else 5e-3 * n**order for n in sizes]) == pytest.approx(order)


def test_every_series_spans_two_decades_and_fits_the_config():
    from growth import MEMORY, TIME

    for series in (*TIME, *MEMORY):
        assert series.sizes[-1] >= 99 * series.sizes[0], series.name
        assert series.sizes[-1] == pytest.approx(10 * series.sizes[-3], rel=0.01), series.name
        for size in series.sizes:
            run = series.run(size)  # refused if the sizes did not fit together
            grown = {
                "N": run.name.N,
                "M": run.name.M,
                "S'": run.settings["batch_size"],
                "P": run.settings.get("tasks"),
            }
            assert grown[series.grows] == size


def test_ten_times_as_much():
    from paper import SERIES, grown, total

    curve = {
        "problem": "sine",
        "M": 10,
        "N": 5,
        "runs": 2,
        "seconds": 3600.0,
        "memory": 3e9,
        "files": 1e9,
        "fixed": 1e9,
    }
    adam = {**curve, "N": 1}
    exponents = dict.fromkeys(SERIES.values(), 1.0)
    now = total([curve, adam])
    assert (now["jobs"], now["core_hours"], now["files_gb"], now["machine_gb"]) == (4, 4.0, 4.0, 12.0)
    assert now["machine_hours"] == now["cluster_hours"] == 1.0  # no run is shorter than itself
    seeds = total([grown(c, "seeds", 10, exponents) for c in (curve, adam)])
    assert (seeds["jobs"], seeds["core_hours"], seeds["machine_hours"]) == (40, 40.0, 5.0)
    particles = total([grown(c, "N", 10, exponents) for c in (curve, adam)])
    assert (particles["jobs"], particles["core_hours"]) == (4, 22.0)  # Adam has one network
    assert particles["largest_job_gb"] == 21.0  # what is fixed stays
    square = grown({**curve, "problem": "square"}, "M", 10, exponents | {SERIES["square", "M"]: 2.0})
    assert square["seconds"] == 100 * curve["seconds"]


def test_the_forms_on_mnist_do_what_they_are_named_after(mnist_folder, monkeypatch):
    """With few particles; the dynamics of CBXpy, which the tests need not have, are left out."""
    import bench_mnist

    monkeypatch.setenv("CBO_DATA_DIR", str(mnist_folder))
    monkeypatch.setattr(bench_mnist, "N", 40)
    risks, gradients = (bench_mnist.FORMS[name]()() for name in ("all risks", "all gradients"))
    assert len(risks) == 40
    np.testing.assert_array_equal(gradients, risks)
    start = bench_mnist.started("cbo", 40).state["particles"]
    after = bench_mnist.FORMS["noise and step"]()()["particles"]
    for name, x in start.items():
        assert (after[name] != x).any()
        np.testing.assert_allclose(after[name], x, rtol=0, atol=1e-6)


def test_dropping_particles_changes_no_number_and_not_dropping_drops_none(mnist_folder, monkeypatch):
    import bench_mnist
    from cbo_pipeline.numerics.kernels import dense_networks

    monkeypatch.setenv("CBO_DATA_DIR", str(mnist_folder))
    risks, dropped = dense_networks.risks, []

    def counted(*arguments):
        found = risks(*arguments)
        dropped.append(np.isinf(found).sum())
        return found

    monkeypatch.setattr(dense_networks, "risks", counted)
    usual, all_ = bench_mnist.started("cbo", 40), bench_mnist.without_dropping(bench_mnist.started("cbo", 40))
    for training, some in ((usual, True), (all_, False)):
        dropped.clear()
        iterate = bench_mnist.iterations(training)
        for _ in range(12):
            iterate()
        assert any(dropped) == some
    for name, x in usual.state["particles"].items():
        np.testing.assert_array_equal(all_.state["particles"][name], x)


def test_the_pages_have_a_place_for_every_table():
    import run
    import tables

    text = "".join(page.read_text(encoding="utf-8") for page in run.PAGES)
    names = [name for _, name, _ in tables.MARK.findall(text)]
    assert names == list(dict.fromkeys(names))
    assert set(names) == {*tables.TABLES, "peers", "picture"}
    assert len(re.findall("made by `make bench`: ", text)) == len(names)  # every mark has its end


def test_tables_are_made_anew_and_the_rest_is_kept(monkeypatch, capsys):
    import tables
    from timing import Row, report

    monkeypatch.setattr(sys, "argv", ["bench", "--json"])
    report([Row("sine", "CBXpy", 0.001, 0.2, "s", 100.0)])
    found = {"machine": "a machine", "rows": [json.loads(capsys.readouterr().out)]}
    text = "before\n<!-- made by `make bench`: comparisons -->\nold\n<!-- end -->\nafter\n"
    once = tables.filled(text, found)
    assert "| sine | CBXpy | 1 ms | 200 ms | 200 | at least 100 | reached |" in once
    assert "old" not in once
    assert once.startswith("before\n")
    assert once.endswith("<!-- end -->\nafter\n")
    assert tables.filled(once, found) == once


def test_some_are_measured_again_and_the_rest_is_kept(monkeypatch):
    import run

    old = [{"script": name, "kind": "comparison", "value": 1} for name in ("bench_sine", "bench_ot", "paper")]
    monkeypatch.setattr(
        run, "measured", lambda script, *_: [{"script": script, "kind": "comparison", "value": 2}] * 2
    )
    rows = run.measured_again(["paper", "bench_sine"], old)
    found = [(row["script"], row["value"]) for row in rows]
    assert found == [("bench_sine", 2), ("bench_sine", 2), ("bench_ot", 1), ("paper", 2), ("paper", 2)]


def test_every_row_that_is_kept_names_its_script():
    import run

    rows = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))["rows"]
    assert {row["script"] for row in rows} == set(run.SCRIPTS)


def test_jobs_that_do_nothing_have_a_row_for_each_number():
    """Results from before there were several numbers have one, and no exponent."""
    import bench_driver
    import tables

    rows = [{"kind": "plan", "runs": 1, "runs_per_job": 1, "seconds": 2.0, "megabytes": 100.0}]
    rows.append({"kind": "instant jobs", "jobs": 100, "seconds": 6.0, "megabytes": 140.0})
    old = tables.driver(rows)
    assert "| 100 | 6.0 s | 40 ms | 140 MB |\n" in old
    assert "to the power" not in old
    rows.append({"kind": "instant jobs", "jobs": 10_000, "seconds": 402.0, "megabytes": 1400.0})
    rows.append({"kind": "instant exponent", "exponent": bench_driver.exponent(rows[1:], 2.0, "jobs")})
    new = tables.driver(rows)
    assert new.startswith(old)
    assert "| 10 000 | 6.7 min | 40 ms | 1.4 GB |\n" in new
    assert "grows as the number of jobs to the power 1.00.\n" in new


def test_the_numbers_of_jobs_are_those_that_are_made():
    import bench_driver

    for number in (1, *bench_driver.INSTANT, *bench_driver.SIZES):
        assert bench_driver.number_of_runs(str(number)) == number
        sine = bench_driver.overlay(number)["experiments"]["sine"]
        assert sine["seeds"] * len(sine["M"]) == number
    with pytest.raises(argparse.ArgumentTypeError, match="150 is not a multiple of 100"):
        bench_driver.number_of_runs("150")


def test_one_row_of_the_real_tables_is_made_anew_and_the_others_stay():
    import real_tables

    page = real_tables.PAGE.read_text(encoding="utf-8")
    assert real_tables.table_of("digits")["target"].dtype.kind == "U"  # classes by name
    once = real_tables.with_row(page, "hybrid", ["0.125 (3 s)", "0.5 (4 s)", "0.75 (5 s)"])
    assert "| `hybrid` | 0.125 (3 s) | 0.5 (4 s) | 0.75 (5 s) |\n" in once
    rows = [line for line in once.splitlines() if line.startswith("| `")]
    kept = [line for line in page.splitlines() if line.startswith("| `") and "`hybrid`" not in line]
    assert [line for line in rows if "`hybrid`" not in line] == kept
    assert real_tables.with_row(once, "hybrid", ["0.125 (3 s)", "0.5 (4 s)", "0.75 (5 s)"]) == once
    assert real_tables.cell([0.9, 0.7, 0.8], [20.0, 0.2, 0.4]) == "0.800 (1 s)"
