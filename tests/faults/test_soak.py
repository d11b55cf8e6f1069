"""A hundred runs under fire (tests/soak) on a throwaway Slurm."""

import pytest

from soak import short
from soak.monkey import schedule
from soak.place import Slurm

pytestmark = pytest.mark.workflow


def test_runs_under_fire_on_slurm_end_as_a_quiet_run_does(tmp_path_factory, record_property):
    folder = short.place_for_it(tmp_path_factory)
    short.soak(folder, Slurm(folder / "cluster"), 100, 12, 20, record_property)


def test_a_schedule_is_decided_by_its_seed_and_has_every_kind():
    first, again, other = (schedule(seed, 40, 100, True) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert len(first) == 40
    assert len({what for _, what in first}) == 10
    assert all(0 <= runs < 95 for runs, _ in first)
    assert "scancel of a job" not in {what for _, what in schedule(1, 40, 100, False)}
