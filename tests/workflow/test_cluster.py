"""The profiles and the page on clusters say what the workflow is: this needs no cluster."""

import json
import os
import re
import shlex
import sys
from types import SimpleNamespace

import pytest
import yaml

from cbo_pipeline.claims.reading_plan import ReadingPlan
from cbo_pipeline.config import load_config, runs
from cbo_pipeline.workflow import grid_engine, shared_jobs
from cbo_pipeline.workflow.plan import Plan, cost_file
from tiny import ROOT, finish, snakemake_command

PROFILE, GRID_ENGINE = (
    yaml.safe_load((ROOT / "workflow" / "profiles" / name / "config.yaml").read_text())
    for name in ("slurm", "grid_engine")
)
STATUS = ROOT / "workflow" / "profiles" / "grid_engine" / "status.sh"


def test_the_page_counts_the_runs_of_the_config():
    names = list(runs(load_config()))
    mnist = [name for name in names if name.experiment == "mnist"]
    curves = {name.curve for name in names}
    page = (ROOT / "docs" / "cluster.md").read_text()
    told = re.search(r"has (\d+) runs, (\d+) of them MNIST; with the (\d+) summaries", page)
    assert [int(count) for count in told.groups()] == [len(names), len(mnist), len(curves)]
    assert f"The {len(names) - len(mnist)} small runs" in page


@pytest.mark.parametrize("overlays", [(), ("many_seeds",), ("many_seeds", "horizon")], ids=" ".join)
def test_as_many_jobs_are_allowed_as_there_are_runs_and_summaries(overlays):
    """Those of the readings too. With fewer the plugin's array jobs wait for ever (the profile says why)."""
    files = [ROOT / "workflow" / f"{name}.yaml" for name in overlays]
    names = list(runs(load_config(*files)))
    of_readings = [source for sources in ReadingPlan.of(files).trained().values() for source in sources]
    summaries = len({name.curve for name in names}) + len(of_readings)
    count = len(names) + sum(len(source.seeds) for source in of_readings) + summaries
    assert count > 2000
    assert PROFILE["jobs"] > count
    assert int(PROFILE["max-jobs-per-timespan"].split("/")[0]) > count


def test_the_profile_names_rules_that_exist():
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    for name in (*PROFILE["slurm-array-jobs"].split(","), *PROFILE["set-resources"]):
        assert re.search(rf"(rule|as) {name}\b", rules), name


OF_TABLE = {"problem": "table", "data": "table.csv", "targets": "y", "seeds": 2, "methods": {"cbo": {"M": 5, "N": 6}}}
OF_MNIST = {"seeds": 2, "methods": dict.fromkeys(("adam", "adam_lr1", "adam_lr2", "adam_lr4", "hybrid"))}


@pytest.mark.workflow
def test_every_job_that_loads_the_problem_of_a_run_on_a_gpu_asks_for_one(tmp_path, monkeypatch):
    """Those that train, measure and summarise, by rules of their own: none is in an array with jobs without a GPU."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("x,y\n" + "".join(f"{k},{k * k}\n" for k in range(100)))
    on_gpu = {"mnist": {"device": "cuda", **OF_MNIST}, "fast": {"device": "cuda", **OF_TABLE}}
    experiments = {**on_gpu, "slow": OF_TABLE}
    overlay = tmp_path / "own.json"
    overlay.write_text(json.dumps({"only_experiments": list(experiments), "experiments": experiments}))
    plan = Plan(load_config(overlay))
    assert [plan.gpus(curve) for curve in plan.curves] == [curve.experiment in on_gpu for curve in plan.curves]
    targets = [*plan.summaries(), *map(cost_file, plan.curves)]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--cores", "1", "--dry-run"]
    done = finish([*command, "--configfile", str(overlay), "--", *targets], tmp_path)
    assert done.returncode == 0, done.stderr
    planned = {rule: int(n) for rule, n in re.findall(r"^(\w+) +(\d+)$", done.stdout + done.stderr, re.MULTILINE)}
    wanted = {"train_mnist": 2, "train_on_gpu": 2, "summarise_on_gpu": 2, "measure_cost_on_gpu": 2}
    others = {"train": 2, "summarise_curve": 1, "measure_cost": 1, "fetch_mnist": 1, "join_curves": 3}
    assert planned == {**wanted, **others, "total": 16}
    assert not set(wanted) & set(PROFILE["slurm-array-jobs"].split(","))
    assert set(wanted) <= set(PROFILE["set-resources"])
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    for name in (*wanted, "train_reading", "summarise_reading"):
        assert re.search(rf"(rule|as) {name}\b((?!\n\n\n).)*gpu=(PLAN|READINGS)\.gpus", rules, re.DOTALL), name
    (shared,) = (job for job in shared_jobs.jobs([plan], 2) if job.curve.experiment == "fast")
    assert shared.gpus == 1


def test_what_a_dying_job_needs_is_in_the_profile():
    assert PROFILE["retries"] >= 1
    assert PROFILE["slurm-requeue"]
    assert PROFILE["rerun-incomplete"]


@pytest.mark.workflow
@pytest.mark.parametrize("seeds", [4000, list(range(0, 80_000, 20))], ids=["in a row", "scattered"])
def test_four_thousand_seeds_fit_into_every_command(seeds, tmp_path):
    """Linux takes 128 KiB for one argument, and a command is one argument of its shell: every rule, by a dry run."""
    overlay = tmp_path / "many.json"
    others = {"adam": None, "hybrid": None, "cbo_float64": None}
    sine = {"seeds": seeds, "methods": others}
    overlay.write_text(json.dumps({"only_experiments": ["sine"], "experiments": {"sine": sine}}))
    command = snakemake_command("--dry-run", "--printshellcmds")
    command.insert(command.index("--configfile") + 2, str(overlay))
    done = finish([*command, "--config", "runs_per_job=500"], tmp_path)
    assert done.returncode == 0, done.stderr
    shells = re.findall(r"^Shell command: (python .*)$", done.stdout + done.stderr, re.MULTILINE)
    kinds = {re.search("cbo_pipeline ([a-z-]+)", shell)[1] for shell in shells}
    assert kinds >= {"train", "summarise", "join", "claims", "page", "record", "figure", "cost"}
    longest = max(shells, key=len)
    assert len(longest.encode()) < 0.75 * 128 * 1024, f"{len(longest)}: {longest[:100]}"


# --- Grid Engine, without one --------------------------------------------------------------------------------------


def test_the_profiles_agree_on_what_they_share():
    """What every cluster needs is the same in all profiles, but for names of the scheduler's own.

    Slurm's arrays need as many jobs as there are runs; Grid Engine has none.
    """
    keys = ("retries", "keep-going", "rerun-incomplete", "latency-wait", "printshellcmds")
    for key in keys:
        assert GRID_ENGINE[key] == PROFILE[key], key
    assert GRID_ENGINE["default-resources"].items() <= PROFILE["default-resources"].items()


def test_the_submission_asks_for_memory_and_time():
    command = GRID_ENGINE["cluster-generic-submit-cmd"]
    filled = command.format(resources=SimpleNamespace(mem_mb=700, runtime=90))
    words = shlex.split(filled)
    assert words[0] == "qsub"
    assert words[words.index("-l") + 1] == "mem_free=700M,h_rt=0:90:0"
    assert words[words.index("-o") + 1] == str(grid_engine.MESSAGES)
    assert GRID_ENGINE["cluster-generic-cancel-cmd"] == "qdel"


ROW = " 7 0.5 snakejob root {state} 11/16/2026 22:00:00 all.q@localhost 1"
ENDED = "jobnumber    7\nfailed       {failed}\nexit_status  {code}\n"


@pytest.mark.parametrize(
    ("qstat", "qacct", "told"),
    [
        (ROW.format(state="r"), "", "running"),
        (ROW.format(state="qw"), "", "running"),
        (ROW.format(state="Eqw"), "", "failed"),
        ("", ENDED.format(failed="0", code="0"), "success"),
        ("", ENDED.format(failed="0", code="1"), "failed"),
        ("", ENDED.format(failed="100 : assumedly after job", code="137"), "failed"),
        # Started again after its host had died: the last entry counts.
        (
            "",
            ENDED.format(failed="21 : in recognizing job", code="0") + ENDED.format(failed="0", code="0"),
            "success",
        ),
        (ROW.format(state="r").replace(" 7 ", " 77 "), "", "running"),  # known to neither yet
        (None, "", "running"),  # Grid Engine does not answer
    ],
)
def test_the_status_script_tells_how_a_job_is(qstat, qacct, told, tmp_path):
    programs = {"qstat": qstat, "qacct": qacct or None, "qdel": ""}
    for name, says in programs.items():
        file = tmp_path / name
        file.write_text("#!/bin/sh\nexit 1\n" if says is None else f"#!/bin/sh\ncat <<'END'\n{says}\nEND\n")
        file.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert finish([str(STATUS), "7"], tmp_path, **path).stdout == f"{told}\n"


def test_a_job_that_is_known_to_nobody_has_failed_in_the_end(tmp_path):
    for name in ("qstat", "qacct"):
        file = tmp_path / name
        file.write_text(f"#!/bin/sh\nexit {int(name == 'qacct')}\n")
        file.chmod(0o755)
    path = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    assert finish([str(STATUS), "7"], tmp_path, **path).stdout == "running\n"
    assert finish([str(STATUS), "7"], tmp_path, CBO_GRID_ENGINE_WAIT="0", **path).stdout == "failed\n"


# --- The catalogue of workflows ------------------------------------------------------------------------------------


def test_the_catalogue_finds_what_it_looks_for():
    """Plain listing: a README that says what it is, rules, and workflow/Snakefile, since there is a folder workflow.

    So say its page on adding workflows and scripts/generate-catalog.py of snakemake/snakemake-workflow-catalog.
    """
    assert [path.name for path in (ROOT / "workflow").glob("[Ss]nakefile")] == ["Snakefile"]
    assert list((ROOT / "workflow" / "rules").glob("*.smk"))
    told = (ROOT / ".snakemake-workflow-catalog.yml").read_text()
    assert "in\n# its plain listing" in told
    # With it the catalogue would take the workflow for one that it can deploy.
    assert not (ROOT / "config" / "README.md").exists()
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert set(usage["mandatory-flags"]) == {"desc", "flags"}
    assert set(usage["software-stack-deployment"]) <= {"conda", "apptainer", "apptainer+conda"}
    assert all(isinstance(value, bool) for value in (*usage["software-stack-deployment"].values(), usage["report"]))
    readme = (ROOT / "README.md").read_text(encoding="utf-8").lower()
    assert "snakemake" in readme
    assert "workflow" in readme
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    assert usage["report"] == ("report(" in rules)
    assert usage["software-stack-deployment"]["conda"] == ("conda:" in rules)
    named = set(re.findall(r"[\w/.]+\.(?:ya?ml|md|smk)\b", told)) - {"config/README.md"}
    assert named
    assert all((ROOT / name).is_file() for name in named), named
