"""Figures 1 and 7: the particles are those of a real run, and the files are whole."""

import numpy as np
import pytest

from cbo_pipeline import figures
from cbo_pipeline.figures import diagrams
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.methods.multi_task_cbo import MultiTaskCBO


@pytest.mark.parametrize(("method", "tasks"), [(CBO, 1), (MultiTaskCBO, 3)])
def test_the_particles_find_the_minimisers(method, tasks):
    """What figure 1 says: every consensus point arrives at the minimiser of its task."""
    minimisers = diagrams.TASKS[:tasks]
    paths, consensus = diagrams.particle_paths(method, minimisers)
    assert paths.shape == (diagrams.STEPS + 1, diagrams.PARTICLES, 2)
    away = np.linalg.norm(consensus - minimisers, axis=1)
    assert (away < 0.3).all()
    assert (np.abs(minimisers) < 1).all()  # within the support of the initial law
    assert (np.abs(paths[0]) <= 1).all()


def test_both_panels_start_from_the_same_particles():
    single, _ = diagrams.particle_paths(CBO, diagrams.TASKS[:1])
    many, _ = diagrams.particle_paths(MultiTaskCBO, diagrams.TASKS)
    np.testing.assert_array_equal(single[0], many[0])


def test_the_risk_of_the_one_neuron_vanishes_at_its_minimisers_only():
    problem = diagrams.OneNeuron(diagrams.TASKS)
    risks = problem.risks({"theta": diagrams.TASKS})
    np.testing.assert_allclose(np.diagonal(risks), 0.0, atol=1e-30)
    assert (risks[~np.eye(3, dtype=bool)] > 1e-3).all()


@pytest.mark.parametrize("label", ["diagram_multi_task", "meanfield_diagram"])
def test_the_same_bytes_each_time_and_fonts_within(label, tmp_path):
    first, second = ([tmp_path / f"{n}.{kind}" for kind in ("pdf", "png")] for n in (1, 2))
    figures.draw(label, [], first)
    figures.draw(label, [], second)
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]
    text = first[0].read_bytes()
    assert text.startswith(b"%PDF")
    assert b"/FontFile2" in text  # TrueType, embedded
    assert first[1].read_bytes().startswith(b"\x89PNG")
