"""The check of Proposition 2: what it finds, and that it would find what is wrong."""

import numpy as np
import pytest

from cbo_pipeline.claims import barycentres, files
from cbo_pipeline.results import checks


@pytest.fixture(scope="module")
def found():
    """The check with fewer and smaller ensembles."""
    return barycentres.check_barycentres(instances=8, large_instances=2, trained=(12, 10), epochs=(0, 2))


def test_formula_costs_and_barycentres_agree_with_pot(found):
    assert found["residual"] < 1e-12
    assert found["cost_difference"] < 1e-9
    assert found["pot_difference"] < 1e-9
    assert found["pot_better"] == 0
    assert found["judged_by_pot"] == 8 + 2 + 4
    assert found["trained"]["ensembles"] == 4


def test_more_starts_are_better_more_often(found):
    assert found["fixed_point_is_best"] <= found["starts_is_best"] <= 1


def test_more_atoms_can_be_better(found):
    assert found["example_gain"] > 0.07


def test_the_trained_ensembles_are_those_of_the_run():
    (start, weights), (some, equal), (later, _), _ = barycentres.trained_ensembles(12, 10, (0, 2))
    assert start.shape[1:] == later.shape[1:] == (12, 3)
    assert weights.sum() == pytest.approx(1)
    np.testing.assert_allclose(equal, 0.1)
    assert np.abs(some).max() <= 2  # the initial law


def test_the_judge_sees_a_worse_barycentre(monkeypatch):
    """POT's barycentre shows that a search stopped after one round, and POT's costs show a wrong cost."""
    rng = np.random.default_rng(1)
    x, weights = rng.uniform(-2, 2, (6, 12, 3)), np.full(6, 1 / 6)
    assert abs(barycentres.judged_by_pot(x, weights)[1]) < 1e-9
    with monkeypatch.context() as patch:
        real = barycentres.barycentre
        patch.setattr(barycentres, "barycentre", lambda x, w, rounds: real(x, w, 1))
        assert barycentres.judged_by_pot(x, weights)[1] > barycentres.GAIN
    with monkeypatch.context() as patch:
        real_match = barycentres.match
        patch.setattr(barycentres, "match", lambda x, y: real_match(x * 1.001, y))
        assert barycentres.judged_by_pot(x, weights)[0] > 1e-4


def test_claims_read_the_numbers_and_nothing_else(found, tmp_path):
    checks.write("barycentres", found, tmp_path / "barycentres.json")
    assert files.read([tmp_path / "barycentres.json"]).check("barycentres") == found
