"""Figures 1 and 7: the particles are those of real runs, and the files are whole."""

import numpy as np
import pytest

from cbo_pipeline import figures
from cbo_pipeline.config import load_config, resolve, runs_of_variant
from cbo_pipeline.problems.one_neuron import MINIMISERS, OneNeuron
from cbo_pipeline.results import netcdf, runs, summaries
from cbo_pipeline.training.loop import train


@pytest.fixture(scope="module")
def one_neuron(tmp_path_factory):
    """The two runs of figure 1 as the config has them, and the files of their summaries."""
    folder, config, found = tmp_path_factory.mktemp("one_neuron"), load_config(), {}
    for variant in ("single", "shared"):
        run = resolve(config, *runs_of_variant(config, "one_neuron", variant))
        data = runs.dataset(run, train(run))
        netcdf.write(data, folder / f"{variant}_run.nc")
        netcdf.write(summaries.summarise_curve([folder / f"{variant}_run.nc"]), folder / f"{variant}.nc")
        found[variant] = summaries.read(folder / f"{variant}.nc").squeeze("curve"), folder / f"{variant}.nc"
    return found


@pytest.mark.parametrize("variant", ["single", "shared"])
def test_the_particles_find_the_minimisers(one_neuron, variant):
    """What figure 1 says: every consensus point arrives at the minimiser of its task."""
    data, _ = one_neuron[variant]
    away = np.hypot(*(data[f"consensus_{name}"] - data[f"minimiser_{name}"] for name in ("kink", "slope")))
    assert (away < 0.3).all()
    assert (np.abs(MINIMISERS) < 1).all()  # within the support of the initial law
    assert (np.abs(data["particle_kink"].isel(kept_epoch=0)) <= 1).all()


def test_both_panels_start_from_the_same_particles(one_neuron):
    first = (data["particle_slope"].isel(kept_epoch=0) for data, _ in one_neuron.values())
    np.testing.assert_array_equal(*first)


def test_the_risk_of_the_one_neuron_vanishes_at_its_minimisers_only():
    problem = OneNeuron(M=1, precision="float64", tasks=3)
    problem.load(None)
    kinks, slopes = MINIMISERS.T
    risks = problem.risks({"b": -kinks[:, None], "c": slopes[:, None, None]}, problem.everything())
    np.testing.assert_allclose(np.diagonal(risks), 0.0, atol=1e-30)
    assert (risks[~np.eye(3, dtype=bool)] > 1e-3).all()


@pytest.mark.parametrize("label", ["diagram_multi_task", "meanfield_diagram"])
def test_the_same_bytes_each_time_and_fonts_within(label, tmp_path, one_neuron):
    shown = [path for _, path in one_neuron.values()] if label == "diagram_multi_task" else []
    first, second = ([tmp_path / f"{n}.{kind}" for kind in ("pdf", "png")] for n in (1, 2))
    figures.draw(label, shown, first)
    figures.draw(label, shown, second)
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    text = first[0].read_bytes()
    assert text.startswith(b"%PDF")
    assert b"/FontFile2" in text  # TrueType, embedded
    assert first[1].read_bytes().startswith(b"\x89PNG")
