"""The check ``unseen``: how an ensemble spreads where the risk is blind."""

import numpy as np
import pytest

from cbo_pipeline.claims import unseen
from cbo_pipeline.methods.cbo import CBO
from cbo_pipeline.numerics.streams import Streams

DT = 0.1


def grown(sigma_squared: float, steps: int, again: float) -> float:
    method = CBO(DT, 1e5, 1.0, sigma_squared, "uniform", 1.0)
    return unseen.growth(method, Streams(0), 60, 20_000, steps, again)


@pytest.mark.parametrize("sigma_squared", [0.5, 1.4])
def test_one_step_is_that_of_the_formula(sigma_squared):
    assert grown(sigma_squared, 1, 0.0) == pytest.approx((1 - DT) ** 2 + 2 * sigma_squared * DT, rel=0.03)


def test_while_one_particle_stays_the_best_it_shrinks():
    """And where it grows, ever fewer directions carry the mean, so that their sum falls behind it."""
    assert grown(1.4, 30, 1.0) < 1 < grown(1.4, 30, 0.0) < (1 - DT) ** 2 + 2 * 1.4 * DT


def test_the_check_tells_its_settings_and_every_repeat():
    found = unseen.check_unseen(repeats=2, directions=5, steps=3, N=4)
    assert (found["N"], found["directions"], found["steps"], found["sigma_squared"]) == (4, 5, 3, 1.4)
    assert [(row["again"], row["repeat"]) for row in found["rows"]] == [(p, k) for p in unseen.AGAIN for k in (0, 1)]
    assert np.isfinite([row["growth"] for row in found["rows"]]).all()
    assert found == unseen.check_unseen(repeats=2, directions=5, steps=3, N=4)
