"""A few runs under fire (tests/soak) of four drivers in one folder: a file of its own, so that it need not wait."""

import pytest

from soak import short
from soak.place import Machine

pytestmark = pytest.mark.workflow


def test_runs_under_fire_of_four_drivers_end_as_a_quiet_run_does(tmp_path_factory, record_property):
    short.soak(short.place_for_it(tmp_path_factory), Machine(), 8, 1, 8, record_property)
