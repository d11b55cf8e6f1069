"""What a soak is made of and what it tells (tests/soak); the soaks themselves are in tests/faults."""

from collections import Counter

import pytest

from cbo_pipeline.config import load_config
from cbo_pipeline.workflow import shared_jobs
from cbo_pipeline.workflow.plan import Plan
from soak import place, table, workload
from soak.campaign import Outcome, Quiet


@pytest.mark.parametrize(("wanted", "runs_per_job", "widths"), [(100, 12, 1), (1000, 21, 3)])
def test_one_run_of_every_curve_has_a_job_to_itself(wanted, runs_per_job, widths, tmp_path):
    """These go to Slurm as array jobs."""
    work = workload.make(tmp_path, wanted, runs_per_job, widths)
    config = load_config(work.overlay)
    plan = Plan(config, runs_per_job=config.pop("runs_per_job"))
    sharing = sum(len(job.seeds) for job in shared_jobs.jobs([plan], plan.runs_per_job, tmp_path))
    assert work.runs - sharing == len(plan.curves) == 8 * widths
    assert wanted <= work.runs < 1.1 * wanted


def test_arrays_of_training_jobs_are_noted_while_slurm_knows_them(tmp_path):
    listed = "3 N/A rule_train_sine_cbo_M4_N6_seeds_0to11\n5 1 rule_summarise_curve_wildcards_sine_cbo_4_6\n"
    listed += "6 N/A rule_train_wildcards_square_ot_cbo_4_6_3\n"  # lost, and made again by itself
    listed += "2 1 rule_train_wildcards_sine_cbo_4_6_12\n2 2 rule_train_wildcards_sine_cbo_4_6_12\n"
    slurm = place.Slurm(tmp_path)
    slurm.cluster.run = lambda *command, check: listed if "all" in command else ""
    slurm.look_after()
    listed = "7 1 rule_train_wildcards_sine_adam_4_1_12\n"
    slurm.look_after()
    assert sorted(slurm.arrays()) == [1, 2]


def test_the_table_tells_the_arrays_and_the_minutes_of_the_quiet_run():
    def outcome(where: str, arrays: tuple[int, ...]) -> Outcome:
        quiet = Quiet({}, 100.0, 8, 1.5)
        return Outcome(where, 7, 104, 2.25, Counter(bit=3), 2, quiet, 150.0, 9, arrays, ())

    told = table.table([outcome("Slurm", (24, 2)), outcome("here", ())])
    assert "| training jobs sent in arrays (arrays) | 26 (2) | – |\n" in told
    assert "| minutes under fire | 2.2 | 2.2 |\n" in told
    assert "| minutes of the quiet run before | 1.5 | 1.5 |\n" in told
