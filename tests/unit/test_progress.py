"""The line that tells how long the workflow will still take."""

import logging

import pytest

from cbo_pipeline.config import load_config, resolve, runs
from cbo_pipeline.workflow import progress
from cbo_pipeline.workflow.progress import Forecast, Job


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def advance(forecast: Forecast, seconds: float, *ids: int) -> None:
    """Do these jobs at the same time."""
    for id in ids:
        forecast.start(id)
    forecast.clock.now += seconds
    for id in ids:
        forecast.finish(id)


def test_before_the_first_job_it_is_the_expected_time_on_all_cores():
    forecast = Forecast([Job(1, "long", 600), Job(2, "short", 10), Job(3, "short", 10)], 2, Clock())
    assert forecast.left() == pytest.approx(310)
    assert forecast.line() == "3 jobs: about 5 min 10 s"


def test_a_slow_machine_is_noticed():
    """Every job takes three times as long as expected: soon the rest is expected to do so too."""
    forecast = Forecast([Job(i, "a" if i < 10 else "b", 60) for i in range(20)], 1, Clock())
    for i in range(10):
        advance(forecast, 180, i)
    # Ten of the kind that was seen to take 180 s are done; ten of another kind are thought to take 60 s each.
    assert forecast.left() == pytest.approx(600, rel=0.01)
    for i in range(10, 15):
        advance(forecast, 180, i)
    assert forecast.left() == pytest.approx(900, rel=0.05)


def test_work_of_running_jobs_counts_and_time_never_runs_backwards():
    forecast = Forecast([Job(i, "a", 100) for i in range(2)], 2, Clock())
    lefts = []
    for id in (0, 1):
        forecast.start(id)
    for _ in range(20):
        forecast.clock.now += 10
        lefts.append(forecast.left())
    assert lefts == sorted(lefts, reverse=True)
    assert lefts[4] == pytest.approx(50)
    assert lefts[-1] == 0  # overdue, and not negative


def test_more_cores_than_jobs_do_not_help():
    assert Forecast([Job(1, "a", 100)], 64, Clock()).left() == pytest.approx(100)


def test_it_hears_snakemake_and_speaks_now_and_then():
    said = []
    forecast = Forecast([Job(i, "a", 5) for i in range(4)], 1, Clock())
    logger = logging.Logger("heard", logging.INFO)
    logger.addHandler(progress.Line(forecast, said.append))
    logger.info("something else")
    for i in range(4):
        logger.info(None, extra={"event": "job_started", "jobs": [i]})
        forecast.clock.now += 6
        logger.info(None, extra={"event": "job_finished", "job_id": i})
        logger.info(None, extra={"event": "progress", "done": i + 1, "total": 5})
    logger.info(None, extra={"event": "job_finished", "job_id": 77})  # a job that was not planned
    assert said == ["2 of 4 jobs done in 15 s, about 15 s left", "4 of 4 jobs done in 25 s, nothing left"]


def test_the_runs_of_the_paper_take_what_they_were_seen_to_take():
    """Within a factor of three of core seconds that were measured, one core of an AMD EPYC."""
    measured = {
        "sine/cbo": 15, "sine/adam": 6, "mnist/cbo": 200, "multi_task/multi_task_cbo": 17,
        "multi_task_memory/separate_20": 90, "multi_task_memory/shared_20": 7,
    }  # fmt: skip
    config = load_config()
    for name in runs(config):
        curve = f"{name.experiment}/{name.variant}"
        if curve in measured:
            ratio = progress.training_seconds(resolve(config, name)) / measured[curve]
            assert 1 / 3 < ratio < 3, (curve, ratio)
