"""The profile and the page on clusters say what the workflow is: this needs no Slurm."""

import re

import yaml

from cbo_pipeline.config import load_config, runs
from tiny import ROOT

PROFILE = yaml.safe_load((ROOT / "workflow" / "profiles" / "slurm" / "config.yaml").read_text())


def test_the_page_counts_the_runs_of_the_config():
    names = list(runs(load_config()))
    mnist = [name for name in names if name.experiment == "mnist"]
    curves = {name.curve for name in names}
    page = (ROOT / "docs" / "cluster.md").read_text()
    told = re.search(r"has (\d+) runs, (\d+) of them MNIST; with the (\d+) summaries", page)
    assert [int(count) for count in told.groups()] == [len(names), len(mnist), len(curves)]
    assert f"The {len(names) - len(mnist)} small runs" in page


def test_as_many_jobs_are_allowed_as_there_are_runs():
    """With fewer the plugin's array jobs wait for ever (the profile says why)."""
    count = sum(1 for _ in runs(load_config()))
    assert PROFILE["jobs"] > count
    assert int(PROFILE["max-jobs-per-timespan"].split("/")[0]) > count


def test_the_profile_names_rules_that_exist():
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    for name in (*PROFILE["slurm-array-jobs"].split(","), *PROFILE["set-resources"]):
        assert re.search(rf"(rule|as) {name}\b", rules), name


def test_what_a_dying_job_needs_is_in_the_profile():
    assert PROFILE["retries"] >= 1
    assert PROFILE["slurm-requeue"]
    assert PROFILE["rerun-incomplete"]
