"""Several runs in one job (`runs_per_job`): the same bytes, the same files, nothing made anew, nothing lost."""

import base64
import json
import os
import re
import shutil
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from cbo_pipeline.claims.reading_plan import ReadingPlan
from cbo_pipeline.cli.main import main
from cbo_pipeline.config import Curve, load_config, resolve
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training.loop import train
from cbo_pipeline.workflow import doubted_runs, shared_jobs
from cbo_pipeline.workflow.plan import Plan
from tiny import OVERLAY, SUMMARY, digests, end, finish, run_of, snakemake_command, start, wait_until

CURVE = Curve("sine", "cbo", 5, 8)
# One curve of six seeds, laid over tests/tiny.yaml.
SIX = """\
only_experiments: [sine]
experiments: {sine: {seeds: 6, methods: {adam: null, cbo_float64: null, hybrid: null}}}
"""


@pytest.fixture
def overlay(tmp_path):
    path = tmp_path / "six.yaml"
    path.write_text(SIX)
    return path


def command(overlay: Path, runs_per_job: int | None, *options: str, target: str = SUMMARY, **settings) -> list[str]:
    """Snakemake on the six seeds; ``settings`` are further ones of the experiment."""
    words = snakemake_command(target)
    more = overlay.with_name("more.yaml")
    more.write_text(json.dumps({"experiments": {"sine": settings}}))
    where = words.index("--configfile") + 2
    words[where:where] = [str(overlay), str(more)]
    return [*words, *options, *([] if runs_per_job is None else ["--config", f"runs_per_job={runs_per_job}"])]


def jobs_left(overlay: Path, runs_per_job: int | None, folder: Path, **settings) -> dict[str, int]:
    """How often each rule would run, by a dry run."""
    return _planned(finish(command(overlay, runs_per_job, "--dry-run", **settings), folder))


def _planned(done) -> dict[str, int]:
    assert done.returncode == 0, done.stdout + done.stderr
    table = re.search(r"^job +count\n-+ +-+\n(.*?)^total", done.stdout, re.MULTILINE | re.DOTALL)
    return {rule: int(count) for rule, count in (line.split() for line in table[1].splitlines())} if table else {}


def undisturbed(overlay: Path, seeds, folder: Path) -> dict[str, bytes]:
    """The bytes of each run, made alone, by its path below results/runs."""
    config, found = load_config(OVERLAY, overlay), {}
    for name in (CURVE.run(seed) for seed in seeds):
        run = resolve(config, name)
        netcdf.write(runs.dataset(run, train(run)), folder / "alone.nc")
        found[f"{name}.nc"] = (folder / "alone.nc").read_bytes()
    return found


def made(folder: Path) -> dict[str, bytes]:
    place = folder / "results" / "runs"
    return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*.nc")}


@pytest.mark.workflow
def test_the_number_of_runs_per_job_changes_no_byte_and_makes_nothing_anew(overlay, tmp_path, record_property):
    work = tmp_path / "work"
    work.mkdir()
    done = finish(command(overlay, 4), work)
    assert done.returncode == 0, done.stderr
    logs = {path.name for path in (work / "results" / "logs" / "sine" / "cbo").iterdir()}
    assert logs == {"M5_N8_seeds_0to3.log", "M5_N8_seeds_4to5.log"}
    assert made(work) == undisturbed(overlay, range(6), tmp_path)
    assert not [path for path in (work / "results" / "checkpoints").rglob("*") if path.is_file()]

    for number in (None, 1, 2, 500):
        assert jobs_left(overlay, number, work) == {}, number
    # Other settings are noticed all the same, and more seeds are trained without the others.
    assert jobs_left(overlay, None, work, epochs=4)["train"] == 6
    assert jobs_left(overlay, 4, work, epochs=4)["train"] == 6
    more = jobs_left(overlay, 4, work, seeds=11)
    assert more == {
        "train_sine_cbo_M5_N8_seeds_6to7": 1,
        "train_sine_cbo_M5_N8_seeds_8to10": 1,
        "summarise_curve": 1,
        "join_curves": 1,
    }

    # Of runs that are missing those alone are made, and none of the others.
    for seed in (1, 2, 5):
        (work / "results" / "runs" / f"{CURVE.run(seed)}.nc").unlink()
    shutil.rmtree(work / "results" / "summary")
    left = jobs_left(overlay, 4, work)
    assert {rule for rule in left if rule.startswith("train")} == {"train_sine_cbo_M5_N8_seeds_1to2", "train"}
    assert left["train"] == 1
    assert jobs_left(overlay, None, work)["train"] == 3


@pytest.mark.workflow
def test_runs_of_another_reading_share_jobs_too(overlay, tmp_path):
    """And are known by the rule of one run when the number of runs per job changes."""
    work = tmp_path / "work"
    work.mkdir()
    reading = "float64--one_factor"
    target = f"results/readings/{reading}/summary/{CURVE}.nc"

    def planned(runs_per_job):
        return _planned(finish(command(overlay, runs_per_job, "--dry-run", target=target), work))

    jobs = {f"train_reading_float64__one_factor_sine_cbo_M5_N8_seeds_{seeds}": 1 for seeds in ("0to3", "4to5")}
    assert planned(4) == {**jobs, "summarise_reading": 1}
    done = finish(command(overlay, 4, target=target), work)
    assert done.returncode == 0, done.stderr
    plan = ReadingPlan.of([OVERLAY, overlay])
    for seed in range(6):
        run = plan.run(reading, CURVE.run(seed))
        netcdf.write(runs.dataset(run, train(run)), tmp_path / "alone.nc")
        path = work / f"results/readings/{reading}/runs/{run.name}.nc"
        assert path.read_bytes() == (tmp_path / "alone.nc").read_bytes()
    assert (work / f"results/logs/readings/{reading}/sine/cbo/M5_N8_seeds_0to3.log").exists()
    assert not [path for path in (work / "results" / "checkpoints").rglob("*") if path.is_file()]
    assert planned(None) == planned(4) == planned(2) == {}
    for name in ("seed1", "seed2", "seed5"):
        (work / f"results/readings/{reading}/runs/sine/cbo/M5_N8_{name}.nc").unlink()
    (work / target).unlink()
    left = {"train_reading_float64__one_factor_sine_cbo_M5_N8_seeds_1to2": 1, "train_reading": 1}
    assert planned(4) == {**left, "summarise_reading": 1}


@pytest.mark.workflow
def test_runs_that_were_made_alone_stay(reference, tmp_path):
    work = tmp_path / "work"
    shutil.copytree(reference, work)
    dry = [*snakemake_command(SUMMARY), "--dry-run"]
    for config in ([], ["--config", "runs_per_job=20"]):
        done = finish([*dry, *config], work)
        assert "Nothing to be done" in done.stdout + done.stderr, done.stdout + done.stderr


@pytest.mark.workflow
def test_a_killed_job_keeps_the_runs_that_are_whole(overlay, tmp_path, record_property):
    """Snakemake deletes what the job had written and starts it again: what was whole is not trained a second time."""
    work = tmp_path / "work"
    work.mkdir()
    overlay.write_text(SIX.replace("seeds: 6", "seeds: 3, epochs: 3000"))
    process = start(command(overlay, 3, "--retries", "1"), work)
    log = work / "results" / "logs" / "sine" / "cbo" / "M5_N8_seeds_0to2.log"
    try:
        wait_until(lambda: log.exists() and re.search("seed1: epoch", log.read_text()), seconds=300)
        os.kill(_process_of(work), signal.SIGKILL)
        _, said = process.communicate(timeout=600)
    finally:
        end(process)
    assert process.returncode == 0, said
    assert "seed0: was trained before" in log.read_text()
    assert made(work) == undisturbed(overlay, range(3), tmp_path)
    assert not [path for path in (work / "results" / "checkpoints").rglob("*") if path.is_file()]
    record_property("fault", ["kill -9 of a job of several runs", 1, 1, True])


@pytest.mark.workflow
def test_what_a_killed_snakemake_was_making_shares_jobs_again(overlay, tmp_path, record_property):
    """Runs that are whole by then are put into place, by one job instead of one for each."""
    work = tmp_path / "work"
    work.mkdir()
    overlay.write_text(SIX.replace("seeds: 6", "seeds: 4, epochs: 3000"))
    process = start(command(overlay, 4), work)
    log = work / "results" / "logs" / "sine" / "cbo" / "M5_N8_seeds_0to3.log"
    try:
        wait_until(lambda: log.exists() and re.search("seed2: epoch", log.read_text()), seconds=300)
        training = _process_of(work)
        process.kill()  # Snakemake, and then its job
        os.kill(training, signal.SIGKILL)
        process.communicate(timeout=60)
    finally:
        end(process)
    assert len(made(work)) == 2
    assert doubted_runs.named(work) == {f"results/runs/{CURVE.run(seed)}.nc" for seed in range(4)}
    left = jobs_left(overlay, 4, work)
    assert "train" not in left
    assert left["train_sine_cbo_M5_N8_seeds_0to3"] == 1
    done = finish(command(overlay, 4), work)
    assert done.returncode == 0, done.stderr
    assert "seed0: was trained before" in log.read_text()
    assert made(work) == undisturbed(overlay, range(4), tmp_path)
    assert not jobs_left(overlay, 4, work)
    record_property("fault", ["kill -9 of Snakemake, then the same command", 1, 1, True])


@pytest.mark.workflow
def test_a_run_that_was_in_place_when_snakemake_was_killed_is_not_trained_again(overlay, tmp_path, record_property):
    """The moment between the end of a job and Snakemake's note of it."""
    overlay.write_text(SIX.replace("seeds: 6", "seeds: 3"))
    done = finish(command(overlay, None), tmp_path)
    assert done.returncode == 0, done.stderr
    before = digests(tmp_path / "results")
    path = f"results/runs/{CURVE.run(2)}.nc"
    note = tmp_path / ".snakemake" / "incomplete" / base64.urlsafe_b64encode(path.encode()).decode()
    note.parent.mkdir(exist_ok=True)
    note.write_text('{"external_jobid": null}')
    assert jobs_left(overlay, None, tmp_path)["train"] == 1
    done = finish(command(overlay, None), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "was trained before" in (tmp_path / "results" / "logs" / f"{CURVE.run(2)}.log").read_text()
    assert digests(tmp_path / "results") == before
    assert not list((tmp_path / "results" / "checkpoints").rglob("*.whole"))
    record_property("fault", ["kill -9 of Snakemake, then the same command", 1, 1, True])


def test_notes_of_another_kind_are_passed_over(tmp_path):
    notes = tmp_path / ".snakemake" / "incomplete"
    assert doubted_runs.named(tmp_path) == set()
    (notes / "@cmVzdWx0cy9y").mkdir(parents=True)
    (notes / "@cmVzdWx0cy9y" / "dW5zL2E=").touch()
    (notes / "migration_underway").touch()
    assert "results/runs/a" in doubted_runs.named(tmp_path)


def _process_of(work: Path) -> int:
    """The process that trains in this folder."""
    for place in Path("/proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes().split(b"\0")
            if words[1:4] == [b"-m", b"cbo_pipeline", b"train"] and (place / "cwd").resolve() == work.resolve():
                return int(place.name)
        except OSError:
            continue
    raise AssertionError("nothing trains here")


@pytest.mark.workflow
def test_a_failing_run_does_not_cost_the_others(overlay, tmp_path, record_property):
    work = tmp_path / "work"
    foreign = work / "results" / "checkpoints" / f"{CURVE.run(1)}.npz"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("somebody's notes")
    done = finish(command(overlay, 6), work)
    assert done.returncode == 1
    log = (work / "results" / "logs" / "sine" / "cbo" / "M5_N8_seeds_0to5.log").read_text()
    assert "sine/cbo/M5_N8_seed1: " in log
    assert "1 of 6 runs failed: seeds 1" in log
    assert made(work) == undisturbed(overlay, (0, 2, 3, 4, 5), tmp_path)
    assert jobs_left(overlay, 6, work)["train"] == 1
    foreign.unlink()
    before = digests(work / "results" / "runs")
    done = finish(command(overlay, 6), work)
    assert done.returncode == 0, done.stderr
    assert before.items() < digests(work / "results" / "runs").items()
    assert made(work) == undisturbed(overlay, range(6), tmp_path)
    assert not [path for path in (work / "results" / "checkpoints").rglob("*") if path.is_file()]
    record_property("fault", ["one run of a job of several fails", 1, 1, True])


# --- The command -------------------------------------------------------------------------------------------------


def test_one_command_trains_several_seeds(tmp_path, capsys):
    run = run_of()
    code = main(["train", "--settings", run.json, "--seeds", "0-1,4", "--output", str(tmp_path / "run{seed}.nc")])
    assert code == 0
    for seed in (0, 1, 4):
        one = run.with_seed(seed)
        netcdf.write(runs.dataset(one, train(one)), tmp_path / "alone.nc")
        assert (tmp_path / f"run{seed}.nc").read_bytes() == (tmp_path / "alone.nc").read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"run0.nc", "run1.nc", "run4.nc", "alone.nc"}


def test_a_run_that_fails_is_told_and_the_others_are_trained(tmp_path, capsys):
    (tmp_path / "b.nc").write_text("not ours")
    names = [str(tmp_path / name) for name in ("a.nc", "b.nc", "c.nc")]
    options = ["train", "--settings", run_of().json, "--seeds", "0-2", "--output", *names]
    assert main(options) == 1
    told = capsys.readouterr().err
    assert "sine/cbo/M5_N8_seed1: " in told
    assert "b.nc: there already" in told
    assert "1 of 3 runs failed: seeds 1" in told
    assert (tmp_path / "c.nc").exists()
    # Whatever deletes the outputs now, as Snakemake does, the two are not trained again.
    for name in ("a.nc", "b.nc", "c.nc"):
        (tmp_path / name).unlink()
    assert main(options) == 0
    assert capsys.readouterr().err.count("was trained before") == 2
    assert {path.name for path in tmp_path.iterdir()} == {"a.nc", "b.nc", "c.nc"}


def test_a_kept_run_of_other_settings_or_damaged_is_not_taken(tmp_path, capsys):
    (tmp_path / "b.nc").write_text("not ours")
    names = [str(tmp_path / name) for name in ("a.nc", "b.nc")]
    assert main(["train", "--settings", run_of().json, "--seeds", "0-1", "--output", *names]) == 1
    kept = tmp_path / "a.nc.checkpoint.whole"
    (tmp_path / "a.nc").unlink()
    other = run_of(epochs=4)
    assert main(["train", "--settings", other.json, "--output", names[0]]) == 0
    assert "was trained before" not in capsys.readouterr().err
    assert kept.exists()  # it belongs to another run
    content = bytearray(kept.read_bytes())
    content[len(content) // 2] ^= 1
    kept.write_bytes(content)
    assert main(["train", "--settings", run_of().json, "--output", names[0]]) == 0
    assert "was trained before" not in capsys.readouterr().err
    run = run_of()
    netcdf.write(runs.dataset(run, train(run)), tmp_path / "alone.nc")
    assert (tmp_path / "a.nc").read_bytes() == (tmp_path / "alone.nc").read_bytes()


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (["--seeds", "0-2", "--output", "a.nc", "b.nc"], "--output"),
        (["--seeds", "0-1", "--output", "a.nc", "a.nc"], "--output"),
        (["--output", "a.nc", "b.nc"], "--output"),
        (["--seeds", "0-1", "--seed", "3", "--output", "{seed}.nc"], "--seed"),
        (["--seeds", "0-1", "--output", "{seed}.nc", "--checkpoint", "kept"], "--checkpoint"),
        (["--seeds", "1-0", "--output", "{seed}.nc"], "--seeds"),
    ],
)
def test_a_mistake_is_one_line(options, key, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--experiment", "sine", "--method", "cbo", *options]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"cbo-pipeline: {key}")
    assert not list(tmp_path.iterdir())


# --- The plan ----------------------------------------------------------------------------------------------------


def plan_of(**settings) -> Plan:
    config = load_config(OVERLAY)
    experiment = {
        **config["experiments"]["sine"],
        "methods": {"cbo": config["experiments"]["sine"]["methods"]["cbo"]},
    }
    return Plan({"experiments": {"sine": {**experiment, **settings}}})


def test_jobs_are_known_by_the_names_of_their_rules(tmp_path):
    """A job of a cluster reads the rules when other files are missing; the names of rules stay short."""
    plan = plan_of(seeds=1000)
    place = tmp_path / "results" / "runs" / "sine" / "cbo"
    place.mkdir(parents=True)
    for seed in range(1, 500, 2):
        (place / f"M5_N8_seed{seed}.nc").touch()
    jobs = shared_jobs.jobs([plan], 200, tmp_path)
    assert sorted(seed for job in jobs for seed in job.seeds) == [*range(0, 500, 2), *range(500, 1000)]
    assert max(len(job.name) for job in jobs) <= shared_jobs.LONGEST
    assert all(job.name.isidentifier() for job in jobs)
    words = ["--target-jobs", *(f"{job.name}:" for job in jobs), "--allowed-rules", jobs[0].name, "train", "--cores"]
    assert shared_jobs.jobs_of_names([plan], words) == jobs
    assert len({job.remembered for job in jobs}) == 1


def test_by_default_every_run_is_a_job(tmp_path):
    assert shared_jobs.jobs([plan_of()], 1, tmp_path) == []


def test_a_record_is_compared_as_it_was_made():
    """Of a run that Snakemake remembers with others the seed is not compared; of any other it is."""
    plan, wildcards = plan_of(), SimpleNamespace(experiment="sine", variant="cbo", M="5", N="8", seed="1")
    run = plan.run(wildcards)

    def told(params):
        persistence = SimpleNamespace(params=lambda path: params)
        records = shared_jobs.Records(lambda _: plan, SimpleNamespace(persistence=persistence))
        return records.settings(wildcards), records.checkpoint(wildcards)

    shared = shared_jobs.remembered(run)
    for params, shown in ((None, None), ([repr(run.json)], None), ([repr(shared), "'code'"], repr(shared))):
        settings, checkpoint = told(params)
        assert settings == run.json
        assert checkpoint == "results/checkpoints/sine/cbo/M5_N8_seed1.npz"
        assert (repr(settings), repr(checkpoint)) == (shown or repr(run.json), shown or repr(str(checkpoint)))
