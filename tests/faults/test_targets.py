"""What Snakemake is asked for: targets that nothing makes, results of other settings, locks, folders that moved."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cbo_pipeline.config import load_config
from cbo_pipeline.errors import ConfigError, UserError
from cbo_pipeline.workflow import cluster, driver, driver_lock, slurm
from cbo_pipeline.workflow.plan import Plan
from refusals import state
from tiny import OVERLAY, ROOT, SUMMARY, environment, finish, snakemake_command

RUN = "results/runs/sine/cbo/M5_N8_seed0.nc"
RULES = [
    SimpleNamespace(name="all", output=[]),
    SimpleNamespace(name="train", output=["results/runs/{experiment}/{variant}/M{M}_N{N}_seed{seed}.nc"]),
    SimpleNamespace(name="fig2", output=["results/figures/sine_training.pdf"]),
    SimpleNamespace(name="sine_training", output=[]),
    SimpleNamespace(name="check_rule", output=["results/checks/rule_errors.json"]),
]


@pytest.fixture(scope="module")
def plan() -> Plan:
    return Plan(load_config(OVERLAY))


# --- Targets ------------------------------------------------------------------------------------------------------

# A target that nothing makes, and the nearest name.
UNKNOWN = {
    "results/summary/sinus.nc": "results/summary/sine.nc",
    "results/summary/sine": "results/summary/sine.nc",
    "results/summary/sine/cbo_M5_N9.nc": "results/summary/sine/cbo_M5_N8.nc",
    "results/runs/sine/cbo/M5_N8_seed7.nc": "results/runs/sine/cbo/M5_N8_seed",
    "results/runs/sine/cbo/M7_N8_seed0.nc": "results/runs/sine/cbo/M5_N8_seed0.nc",
    "results/runs/sine/cbo/M5_N8_seed0": "results/runs/sine/cbo/M5_N8_seed0.nc",
    "./results//summary/sinus.nc": "results/summary/sine.nc",
    "results/cost/sine/cbo_M7_N8.json": "results/cost/sine/cbo_M5_N8.json",
    "results/cost/sine/hybrid_M5_N8.json": "results/cost/sine/cbo_M5_N8.json",
    "results/figures/sine_trainig.png": "results/figures/sine_training.png",
    "results/figures/sine_training.jpg": "results/figures/sine_training.png",
    "results/claims.jsn": "results/claims.json",
    "results/checks/rule_error.json": "results/checks/rule_errors.json",
    "result/summary/sine.nc": "results/summary/sine.nc",
    "results": "`snakemake --list` names the targets",
    "fig22": "fig2",
    "sine_trainig": "sine_training",
    "trian": "train",
    "al": "all",
    "demo": "`snakemake --list` names the targets",
}


@pytest.mark.parametrize(("target", "nearest"), UNKNOWN.items(), ids=UNKNOWN)
@pytest.mark.parametrize("option", ["targets", "forced", "others"])
def test_a_target_that_nothing_makes_is_refused_with_the_nearest(
    plan, tmp_path, monkeypatch, target, nearest, option, record_property
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as refused:
        driver.refuse_unknown_targets(plan, driver.Asked(**{option: frozenset([target])}), RULES)
    assert (refused.value.code, refused.value.key) == ("unknown-target", target)
    assert nearest in str(refused.value)
    record_property("refused", "a target that nothing makes")


def test_what_is_made_or_there_is_no_mistake(plan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").touch()
    good = ["all", "fig2", "train", RUN, f"./{SUMMARY}", "there", *plan.everything(), *plan.costs_of_claims()]
    driver.refuse_unknown_targets(plan, driver.Asked(frozenset(good)), RULES)


def test_a_figure_is_forced_by_its_number(plan):
    driver.refuse_unknown_targets(plan, driver.Asked(forced=frozenset(["fig2"])), RULES)
    with pytest.raises(UserError) as refused:
        driver.refuse_unknown_targets(plan, driver.Asked(forced=frozenset(["sine_training"])), RULES)
    assert (refused.value.code, refused.value.key) == ("other-name", "sine_training")
    assert "--forcerun fig2" in str(refused.value)


@pytest.mark.workflow
def test_what_is_asked_for_is_read_by_snakemakes_own_parser():
    words = ["fig2", "a.nc", "--cores", "2", "-R", "fig3", "fig4", "--until", "train", "--configfile", "x", "y"]
    asked = driver.Asked.of(words)
    assert asked == driver.Asked(frozenset(["fig2", "a.nc"]), frozenset(["fig3", "fig4"]), frozenset(["train"]))
    assert driver.Asked.of(["--no-such-option-of-snakemake=1", "--cores"]) == driver.Asked()


def test_readings_of_a_config_changed_on_the_command_line_are_refused(record_property):
    """They are planned and judged by files: the base would see the change, and they would not."""
    asked, others = driver.Asked(frozenset(["readings_sine"])), driver.Asked(frozenset(["fig2"]))
    with pytest.raises(ConfigError) as refused:
        driver.refuse_changed_readings(asked, {"runs_per_job": 10, "experiments": {"sine": {"scaling": "plain"}}})
    assert (refused.value.code, refused.value.key) == ("not-for-readings", "experiments")
    record_property("refused", "a target that nothing makes")
    driver.refuse_changed_readings(asked, {"runs_per_job": 10})
    driver.refuse_changed_readings(others, {"experiments": {}})


@pytest.mark.parametrize(
    "arguments",
    [["--configfile", "a", "--configfile", "b"], ["--configfile=a", "--configfile=b"],
     ["--configfiles", "a", "--configfile", "b"]],
)  # fmt: skip
def test_a_second_configfile_is_not_forgotten_in_silence(arguments, record_property):
    with pytest.raises(ConfigError) as refused:
        driver.refuse_lost_configfiles(["snakemake", *arguments])
    assert (refused.value.code, refused.value.key) == ("twice", "--configfile")
    record_property("refused", "a target that nothing makes")


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["results/summary/sinus.nc"], "results/summary/sinus.nc: nothing in the config makes this; did you mean"
         " results/summary/sine.nc?"),
        (["results/cost/sine/cbo_M7_N8.json"], "results/cost/sine/cbo_M7_N8.json: nothing in the config makes this;"
         " did you mean results/cost/sine/cbo_M5_N8.json?"),
        (["--forcerun", "fig22"], "fig22: nothing in the config makes this; did you mean fig2?"),
    ],
)  # fmt: skip
def test_snakemake_itself_says_so_in_one_line_and_makes_nothing(tmp_path, options, words, record_property):
    done = finish(snakemake_command(*options), tmp_path)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"cbo-pipeline: {words}"
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] in ([], [".snakemake"])
    record_property("refused", "a target that nothing makes")


@pytest.mark.workflow
def test_a_forced_figure_is_drawn_again(tmp_path):
    """And its other name, the label, finds it up to date."""
    assert finish(snakemake_command("fig7"), tmp_path).returncode == 0
    figure = tmp_path / "results" / "figures" / "meanfield_diagram.png"
    before = figure.stat().st_mtime_ns
    done = finish(snakemake_command("meanfield_diagram"), tmp_path)
    assert "Nothing to be done" in done.stderr
    assert figure.stat().st_mtime_ns == before
    assert finish(snakemake_command("meanfield_diagram", "--forcerun", "fig7"), tmp_path).returncode == 0
    assert figure.stat().st_mtime_ns > before


# --- Results that are there ---------------------------------------------------------------------------------------


def test_results_of_other_settings_are_told_before_they_are_replaced(plan, reference, tmp_path):
    assert driver.other_settings(plan, reference) == []
    assert driver.other_settings(plan, tmp_path) == []
    (tmp_path / "other.yaml").write_text("experiments: {sine: {methods: {cbo: {dt: 0.05}}}}\n")
    (told,) = driver.other_settings(Plan(load_config(OVERLAY, tmp_path / "other.yaml")), reference)
    assert "2 runs of the same names with other settings (sine/cbo_M5_N8)" in told
    assert "--directory" in told


@pytest.mark.workflow
@pytest.mark.parametrize(
    ("name", "planned"),
    [(RUN, {"train", "summarise_curve", "join_curves"}), ("results/summary/sine/cbo_M5_N8.nc", {"summarise_curve"})],
)
def test_what_was_deleted_is_made_again(reference, tmp_path_factory, name, planned, record_property):
    """``all`` promises runs and curves, not only what is made of them."""
    folder = tmp_path_factory.mktemp("copied") / "work"
    shutil.copytree(reference, folder, copy_function=shutil.copy2)
    (folder / name).unlink()
    (folder / "only.yaml").write_text("only_experiments: [sine]\n")
    command = snakemake_command("all", "--dry-run", "--quiet", "rules")
    command.insert(command.index("--configfile") + 2, "only.yaml")
    done = finish(command, folder)
    assert done.returncode == 0, done.stderr
    jobs = {line.split()[0]: line.split()[1] for line in done.stdout.splitlines() if len(line.split()) == 2}
    assert planned <= set(jobs), done.stdout
    assert {jobs[rule] for rule in planned} == {"1"}
    record_property("fault", ["a result is deleted", 1, 1, None])


# --- The lock of a Snakemake that was killed ----------------------------------------------------------------------


@pytest.fixture
def locked(tmp_path, monkeypatch):
    """A working directory with a lock, in which this process is."""
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.output.lock").write_text("results/x.nc\n")
    (tmp_path / ".snakemake" / "drivers").mkdir()
    monkeypatch.chdir(tmp_path)
    registered = []
    monkeypatch.setattr("atexit.register", lambda function, *arguments: registered.append((function, arguments)))
    yield tmp_path
    for function, arguments in registered:
        function(*arguments)
    assert not (tmp_path / ".snakemake" / "drivers" / f"{os.uname().nodename}.{os.getpid()}").exists()


def test_the_lock_of_a_dead_snakemake_is_removed(locked, monkeypatch):
    unlocked, told = [], []
    monkeypatch.setattr(driver_lock, "unlock", unlocked.append)
    dead = subprocess.Popen(["true"])
    dead.wait()
    (locked / ".snakemake" / "drivers" / f"{os.uname().nodename}.{dead.pid}").write_text("123")
    driver_lock.clear_dead_lock(told.append)
    assert unlocked == [locked]
    assert len(told) == 1


@pytest.mark.parametrize("note", ["living", "another host", "none"])
def test_any_other_lock_is_kept(locked, monkeypatch, note):
    monkeypatch.setattr(driver_lock, "unlock", lambda folder: pytest.fail("unlocked"))
    drivers = locked / ".snakemake" / "drivers"
    if note == "living":
        (drivers / f"{os.uname().nodename}.{os.getppid()}").write_text(driver_lock.started(os.getppid()))
    elif note == "another host":
        (drivers / "another-host.1").write_text("123")
    driver_lock.clear_dead_lock(pytest.fail)
    assert (locked / ".snakemake" / "locks" / "0.output.lock").exists()


def test_a_folder_without_room_for_a_note_is_no_error(tmp_path, monkeypatch):
    (tmp_path / ".snakemake").write_text("a file, where a folder is needed")
    monkeypatch.chdir(tmp_path)
    told = []
    driver_lock.clear_dead_lock(told.append)
    assert len(told) == 1
    assert "Not a directory" in told[0] or "File exists" in told[0]


@pytest.mark.workflow
def test_a_checkout_that_may_only_be_read_serves_another_directory(tmp_path, record_property):
    """Nothing is written into it, and the driver's note does not stay behind in either."""
    checkout, work = tmp_path / "checkout", tmp_path / "work"
    ignored = shutil.ignore_patterns("__pycache__")
    for name in ("Snakefile", "config.yaml"):
        checkout.mkdir(exist_ok=True)
        shutil.copy2(ROOT / name, checkout / name)
    for name in ("src", "workflow", "envs"):
        shutil.copytree(ROOT / name, checkout / name, ignore=ignored)
    (checkout / "tests").mkdir()
    shutil.copy2(OVERLAY, checkout / "tests" / "tiny.yaml")
    mounted = subprocess.run(
        ["mount", "--bind", "-o", "ro", checkout, checkout], capture_output=True, check=False
    )  # fmt: skip
    if mounted.returncode:
        for path in [checkout, *checkout.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
    before = state(checkout)
    try:
        command = snakemake_command("fig7", "--directory", str(work), root=checkout)
        done = subprocess.run(
            command, cwd=checkout, env=environment(), capture_output=True, text=True, timeout=300, check=False
        )
        assert state(checkout) == before
    finally:
        if not mounted.returncode:
            subprocess.run(["umount", checkout], check=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert (work / "results" / "figures" / "meanfield_diagram.png").is_file()
    assert not (work / ".snakemake" / "drivers").exists()
    record_property("fault", ["a read-only checkout", 1, 1, None])


# --- Before the first job goes to a cluster -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/a b/python", "/it's/python", '/"x"/python', "/$(id)/python", "/a;b/python", "/a&b/python", "/a\tb/x"]
)
def test_a_python_that_no_job_could_start_is_refused(path, record_property):
    with pytest.raises(UserError) as refused:
        cluster.refuse_python(path)
    assert (refused.value.code, refused.value.key) == ("bad-path", "python")
    record_property("refused", "a path that Slurm cannot take")


@pytest.mark.parametrize("path", ["/it's", '/"x"', "/$HOME", "/$(id)", "/`id`", "/a\\b", "/100%", "/a\nb"])
def test_a_folder_that_a_shell_would_read_is_refused(path, record_property):
    with pytest.raises(UserError) as refused:
        cluster.refuse_path("the checkout", path)
    assert (refused.value.code, refused.value.key, refused.value.file) == ("bad-path", "the checkout", path)
    record_property("refused", "a path that Slurm cannot take")


@pytest.mark.parametrize("path", ["/home/me/cbo_pipeline", "/a b/c", "/ünï/cöde", "/a;b&c|d(e)", "/a+b=c,d@e:f"])
def test_other_folders_are_taken(path):
    cluster.refuse_path("the checkout", path)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program of the name sacct, by its text."""
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def make(text: str) -> str:
        path = tmp_path / "our_sacct"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return path.name

    return make


def test_whether_sacct_answers_is_found_out(program, monkeypatch):
    assert slurm.sacct_is_silent("no_such_sacct") == "it is not installed"
    assert slurm.sacct_is_silent(program("exit 0")) == ""
    disabled = program("echo 'Slurm accounting storage is disabled' >&2; exit 1")
    assert slurm.sacct_is_silent(disabled) == "Slurm accounting storage is disabled"
    assert slurm.sacct_is_silent(program("exit 3")) == "exit code 3"
    monkeypatch.setattr(slurm, "ANSWER_SECONDS", 0.2)
    assert "no answer" in slurm.sacct_is_silent(program("exec sleep 5"))


# --- A folder that was moved --------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("make") is None, reason="no make on this machine")
@pytest.mark.parametrize("moved", [False, True])
def test_the_environment_of_a_moved_folder_is_made_anew(tmp_path, moved, record_property):
    """Its programs name the folder in which they were made, and would end with error 127."""
    folder = tmp_path / "moved here"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy2(ROOT / name, folder / name)
    (folder / ".venv" / "bin").mkdir(parents=True)
    (folder / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (folder / ".venv" / ".place").write_text(f"{tmp_path / 'elsewhere' if moved else folder}\n")
    (folder / ".venv" / ".workflow").touch()
    done = subprocess.run(["make", "--dry-run", "setup"], cwd=folder, capture_output=True, text=True, check=True)
    assert ("pip install" in done.stdout) == moved
    assert Path(folder / ".venv" / ".place").exists()
    record_property("fault", ["a moved folder", 1, 1, None])
