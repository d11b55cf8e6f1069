"""Sweeps of one's own: readable names of variants, selection by them, lines or a heat map, shown on the pages."""

import numpy as np
import pytest
import xarray as xr

import page_results
import synthetic
from cbo_pipeline import figures
from cbo_pipeline.config import load_config, resolve, runs
from cbo_pipeline.figures import overview, style
from cbo_pipeline.pages import drawn, index
from cbo_pipeline.pages import overview as report
from cbo_pipeline.results import contract, netcdf, summaries

SWEEP = """
experiments:
  mine:
    problem: sine
    seeds: 2
    epochs: 2
    points: 80
    label_noise: 0.01
    batch_size: 40
    snapshots: []
    M: 5
    N: 8
    methods:
      cbo:
        from: sine/cbo
        sweep: {sweep}
"""


def config(tmp_path, sweep: str) -> dict:
    path = tmp_path / "mine.yaml"
    path.write_text(SWEEP.replace("{sweep}", sweep))
    return load_config(path)


def test_a_sweep_of_two_settings_with_sizes_and_seeds(tmp_path):
    """Settings make variants with readable names; M, N and seeds are told apart by the names of the runs."""
    found = config(
        tmp_path, "{alpha: [1.0e+3, 1.0e+5], sigma_squared: [0.8, 1.6], M: [5, 6], N: [8, 9], seeds: [3, 4, 5]}"
    )
    mine = [name for name in runs(found) if name.experiment == "mine"]
    variants = list(dict.fromkeys(name.variant for name in mine))
    assert variants == [f"cbo_alpha_{a}_sigma_squared_{s}" for a in ("1e3", "1e5") for s in ("0p8", "1p6")]
    assert len(mine) == 4 * 2 * 2 * 3
    assert {(name.M, name.N, name.seed) for name in mine} == {
        (M, N, seed) for M in (5, 6) for N in (8, 9) for seed in (3, 4, 5)
    }
    settings = resolve(found, mine[0]).settings
    assert (settings["alpha"], settings["sigma_squared"]) == (1e3, 0.8)


def curve(method: str = "cbo", **settings) -> xr.Dataset:
    """A curve of a sweep whose risk ends the lower the larger alpha is."""
    end = 1e-2 / settings.get("alpha", 1.0) ** 0.25
    name = "_".join(f"{key}_{value:g}".replace(".", "p").replace("+", "") for key, value in settings.items())
    risk = synthetic.settling(0.5, end, 100, 3, noise=0.1)
    found = synthetic.curve("mine", name, risk, M=5, N=8, method=method, settings=settings)
    return summaries.with_index(
        found.assign(risk_over_seeds=(("curve", "statistic", "epoch"), _statistics(risk)[None]))
        .assign_coords(statistic=list(summaries.STATISTICS))
        .assign_attrs(experiment="mine")
    )


def _statistics(risk: np.ndarray) -> np.ndarray:
    table = [risk.min(0), *np.quantile(risk, [0.25, 0.5, 0.75], axis=0), risk.max(0), risk.mean(0)]
    return np.stack(table)


def joined(*curves: xr.Dataset) -> xr.Dataset:
    return summaries.join([contract.stamp(one, "summary", "mine", "0" * 20, experiment="mine") for one in curves])


def drawing(data: xr.Dataset):
    with style.applied():
        return overview.overview({"mine": data})


def test_a_curve_is_selected_by_the_name_of_its_variant(tmp_path):
    data = joined(curve(alpha=1e3), curve(alpha=1e5))
    netcdf.write(data, tmp_path / "mine.nc")
    for found in (data, summaries.read(tmp_path / "mine.nc")):
        one = found.sel(variant="alpha_1000")
        assert "curve" in one.dims or one["curve"].ndim == 0
        np.testing.assert_array_equal(np.ravel(one["risk"]), np.ravel(found["risk"][0]))


def test_one_setting_is_drawn_as_a_line_over_its_values():
    alphas = [1e3, 1e4, 1e5]
    figure = drawing(joined(*(curve(alpha=alpha) for alpha in alphas)))
    curves, ends = figure.axes
    assert len(curves.lines) == 3
    assert (ends.get_xlabel(), ends.get_xscale()) == ("alpha", "log")
    medians = ends.lines[-1]
    np.testing.assert_array_equal(medians.get_xdata(), alphas)
    assert np.all(np.diff(medians.get_ydata()) < 0)


def test_two_settings_are_drawn_as_a_heat_map_with_the_numbers_in_it():
    cells = [{"alpha": a, "sigma_squared": s} for a in (1e3, 1e5) for s in (0.8, 1.6)]
    figure = drawing(joined(*(curve(**cell) for cell in cells)))
    map_ = figure.axes[1]
    assert (map_.get_xlabel(), map_.get_ylabel()) == ("alpha", "sigma_squared")
    table = map_.images[0].get_array()
    assert table.shape == (2, 2)
    assert np.all(table[:, 1] < table[:, 0])
    assert len(map_.texts) == 4


def test_a_sweep_keeps_its_panel_beside_other_methods():
    """Adam has one curve and other settings; the hybrid has a sweep of its own."""
    maps = [{"alpha": a, "sigma_squared": s} for a in (1e3, 1e5) for s in (0.8, 1.6)]
    lines = [curve("hybrid", gamma=gamma, alpha=1e4) for gamma in (0.5, 0.7, 0.9)]
    data = joined(curve("adam", dt=0.01), *(curve(**cell) for cell in maps), *lines)
    curves, of_cbo, of_hybrid, _ = drawing(data).axes  # the last is the bar of colours
    assert len(curves.lines) == 8
    assert (of_cbo.get_title(), of_cbo.get_xlabel(), of_cbo.get_ylabel()) == ("cbo", "alpha", "sigma_squared")
    assert (of_hybrid.get_title(), of_hybrid.get_xlabel()) == ("hybrid", "gamma")
    np.testing.assert_array_equal(of_hybrid.lines[-1].get_xdata(), [0.5, 0.7, 0.9])


def test_what_is_no_number_spans_no_axis():
    data = joined(curve(alpha=1e3), curve(alpha=1e3, precision=2).assign_coords(variant=("curve", ["other"])))
    assert len(drawing(data).axes) == 1


@pytest.fixture
def results(tmp_path):
    """Results with the figure of an experiment that the paper does not have."""
    page_results.make(tmp_path)
    data = joined(curve(alpha=1e3), curve(alpha=1e5))
    netcdf.write(data, tmp_path / "summary" / "mine.nc")
    figures.draw("mine_overview", [tmp_path / "summary" / "mine.nc"], [tmp_path / "figures" / "mine_overview.png"])
    return tmp_path


def test_it_is_on_the_page_and_in_the_report(results):
    assert drawn.figures_in(results / "figures")[-1] == figures.overview_of("mine")
    index.write(results, results / "index.html")
    page = (results / "index.html").read_text(encoding="utf-8")
    assert '<figure id="mine_overview"><img class="static"' in page
    assert "snakemake --cores all mine_overview" in page
    report.write(results, results / "overview.html")
    fragment = (results / "overview.html").read_text(encoding="utf-8")
    assert "mine_overview: mine: risk per epoch" in fragment
    assert "None" not in fragment
