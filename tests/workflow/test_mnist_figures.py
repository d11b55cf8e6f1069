"""The figures of MNIST show the numbers of the summaries, as far as all compared methods go."""

import numpy as np
import pytest
from matplotlib import pyplot as plt

from cbo_pipeline import figures
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.figures import mnist, style
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.results import summaries as summarise
from cbo_pipeline.training.loop import train

LENGTHS = {"adam": 4, "adam_lr1": 4, "adam_lr2": 4, "adam_lr4": 4, "cbo": 2, "hybrid": 3}
SHOWN = {
    "adam": r"Adam, $\Delta t = 10^{-3}$",
    "cbo": r"CBO, $\Delta t = 10^{-1}$",
    "hybrid": r"hybrid, $\Delta t = 10^{-2}$",
}


@pytest.fixture(scope="module")
def summaries(tmp_path_factory, mnist_folder):
    """Summaries of short runs, by method."""
    folder, config, found = tmp_path_factory.mktemp("mnist"), load_config(), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CBO_DATA_DIR", str(mnist_folder))
        for method, epochs in LENGTHS.items():
            paths = [folder / f"{method}{seed}.nc" for seed in range(3)]
            for seed, path in enumerate(paths):
                name = RunName("mnist", method, 5, 1 if method.startswith("adam") else 6, seed)
                run = resolve(config, name, {"images": 60, "batch_size": 30, "epochs": epochs})
                netcdf.write(runs.dataset(run, train(run)), path)
            found[method] = folder / f"{method}.nc"
        for method, path in found.items():
            netcdf.write(summarise.summarise_curve([folder / f"{method}{s}.nc" for s in range(3)]), path)
    return found


@pytest.fixture
def drawn(summaries):
    """Draw a figure in the style of the project, and close it at the end."""
    data = {"mnist": summarise.join([summarise.read(path) for path in summaries.values()])}
    with style.applied():
        yield lambda function: function(data)
        plt.close("all")


@pytest.mark.parametrize(
    ("function", "series"), [(mnist.comparison_cbo_adam, "risk"), (mnist.mnist_accuracy, "accuracy")]
)
def test_compared_methods_are_shown_as_far_as_all_go(summaries, drawn, function, series):
    axes = drawn(function).axes[0]
    assert {line.get_label() for line in axes.lines} == set(SHOWN.values())
    for line in axes.lines:
        method = next(m for m, label in SHOWN.items() if label == line.get_label())
        values = netcdf.read(summaries[method])[series].isel(curve=0).sel(epoch=[0, 1, 2])
        np.testing.assert_allclose(line.get_ydata(), values.median("seed"))
    assert axes.get_xlim() == (0, 2)
    assert len(axes.collections) == 3  # a band for the spread over the seeds each
    seeds = {netcdf.read(path).sizes["seed"] for path in summaries.values()}
    assert axes.figure.legends[0].get_title().get_text() == f"{seeds.pop()} runs each"


def renamed(summary, variant):
    """The same curve under another name, as one of several of its experiment."""
    plain = summary.drop_indexes("variant")
    coords = {"curve": [f"{variant}_M5_N6"], "variant": ("curve", [variant])}
    return summarise.with_index(plain.drop_vars("variant").assign_coords(coords))


def test_long_runs_have_panels_with_both_risks(summaries):
    """CBO and hybrids as they are in the experiment mnist_horizon, Adam as it is; each to its own last epoch.

    The last panel has the settings of the paper's first version, if its hybrid is there.
    """
    cbo, hybrid = (summarise.read(summaries[method]) for method in ("cbo", "hybrid"))
    shorter = [one.sel(epoch=slice(0, 1)) for one in (cbo, hybrid)]
    adams = [summarise.read(summaries[method]) for method in ("adam", "adam_lr1")]
    usual, of_old = summarise.join([*adams, *shorter]), renamed(hybrid, "hybrid_v1")
    with style.applied():
        without = mnist.comparison_cbo_adam({"mnist": usual, "mnist_horizon": summarise.join([cbo, hybrid])}).axes
        long = {"mnist": usual, "mnist_horizon": summarise.join([cbo, hybrid, of_old])}
        first, *panels = mnist.comparison_cbo_adam(long).axes
    plt.close("all")
    assert (len(without), len(panels)) == (2, 2)
    assert first.get_xlim() == (0, 1)
    for panel, adam in zip(panels, ("adam", "adam_lr1"), strict=True):
        assert panel.get_xlim() == (1, 4)
        lines, labels = panel.get_lines(), {**SHOWN, "adam_lr1": r"Adam, $\Delta t = 10^{-1}$"}
        for method, thin, thick in zip((adam, "cbo", "hybrid"), lines[::2], lines[1::2], strict=True):
            own = netcdf.read(summaries[method]).isel(curve=0)
            assert thick.get_label() == f"{labels[method]}, 3 runs"
            np.testing.assert_allclose(thin.get_ydata(), own["risk"].median("seed"))
            np.testing.assert_allclose(thick.get_ydata(), own["risk_loop"].median("seed"))


def test_a_curve_that_diverges_ends_with_a_cross(summaries):
    """Its runs count as infinite from then on: the median is gone with the second of three."""
    cbo = summarise.read(summaries["cbo"]).load()
    for seed, last in enumerate((0, 1, 2)):
        for name in ("risk", "risk_loop"):
            cbo[name].loc[{"seed": seed, "epoch": slice(last + 1, None)}] = np.nan
    cbo["risk_over_seeds"].loc[{"epoch": [1, 2], "statistic": ["median", "max"]}] = [[0.5, np.nan], [np.inf, np.inf]]
    usual = summarise.join([summarise.read(summaries[m]).sel(epoch=slice(0, 1)) for m in ("adam", "cbo", "hybrid")])
    with style.applied():
        panel = mnist.comparison_cbo_adam({"mnist": usual, "mnist_horizon": summarise.join([cbo])}).axes[1]
    plt.close("all")
    (cross,) = [line for line in panel.get_lines() if line.get_marker() == "X"]
    risks = np.sort([float(cbo["risk_loop"].isel(curve=0).sel(seed=s, epoch=1)) for s in (1, 2)])
    assert (cross.get_xdata()[0], cross.get_ydata()[0]) == (1, risks[1])


def test_every_learning_rate_has_a_panel_with_every_seed(summaries, drawn):
    panels = drawn(mnist.mnist_learning_rates).axes
    for k, (axes, method) in enumerate(zip(panels, ("adam_lr1", "adam_lr2", "adam", "adam_lr4"), strict=True)):
        assert axes.get_title().startswith(f"$\\Delta t = 10^{{-{k + 1}}}$")
        risk = netcdf.read(summaries[method])["risk"].isel(curve=0).transpose("seed", "epoch")
        np.testing.assert_allclose([line.get_ydata() for line in axes.lines], risk)


def test_long_runs_of_the_hybrid_are_beside_adam_at_the_same_rate(summaries):
    hybrid = summarise.read(summaries["hybrid"])  # its rate is 1e-2
    few = hybrid.assign_coords(N=("curve", [4]))
    data = {"mnist": summarise.join([summarise.read(path) for path in summaries.values()]), "mnist_floor": few}
    data["mnist_horizon"] = summarise.join([summarise.read(summaries[method]) for method in ("cbo", "hybrid")])
    with style.applied():
        figure = mnist.mnist_learning_rates(data)
        panels = figure.axes
    plt.close("all")
    assert [len(axes.lines) for axes in panels] == [3, 9, 3, 3]
    risk = hybrid["risk"].isel(curve=0).transpose("seed", "epoch")
    for first in (3, 6):
        np.testing.assert_allclose([line.get_ydata() for line in panels[1].lines[first : first + 3]], risk)
    assert len({line.get_color() for line in panels[1].lines}) == 3
    assert ["N = 4" in axes.get_title() for axes in panels] == [False, True, False, False]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Adam", "hybrid, N = 4", "hybrid, N = 6"]


@pytest.mark.parametrize("label", ["comparison_cbo_adam", "mnist_learning_rates", "mnist_accuracy"])
def test_the_same_figure_gives_the_same_bytes(summaries, tmp_path, label):
    needed = [m for need in figures.FIGURES[label].needs for m in need.variants]
    for name in ("one.png", "two.png"):
        figures.draw(label, [summaries[m] for m in needed], [tmp_path / name])
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
