"""A machine that fails: power cuts and their file systems, no inodes left, no memory left, a clock that jumps."""

import contextlib
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from cbo_pipeline.cli.main import main
from cbo_pipeline.config import RunName, load_config, resolve
from cbo_pipeline.files import is_damaged
from cbo_pipeline.workflow import left_over
from cbo_pipeline.workflow.plan import Plan, run_file
from tiny import OVERLAY, clean_error, end, environment, finish, run_of, start, train_command, wait_until

RUN = run_of("adam", epochs=30)


def train(output: Path, *options) -> int:
    return main(["train", "--settings", RUN.json, "--output", str(output), *map(str, options)])


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """The run, undisturbed."""
    output = tmp_path_factory.mktemp("whole") / "run.nc"
    assert train(output) == 0
    return output.read_bytes()


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> bytes:
    """A checkpoint of the run in the middle of it."""
    from cbo_pipeline.results import code
    from cbo_pipeline.training import checkpoint
    from cbo_pipeline.training.loop import Training

    path = tmp_path_factory.mktemp("kept") / "run.npz"
    checkpoint.save(Training.start(RUN).advance(20), path, code.fingerprint(RUN.method, RUN.problem))
    return path.read_bytes()


# --- A file system after a power cut --------------------------------------------------------------------------------
# What may be found of a file that was written to the side and renamed: file systems differ in what they keep of it.


def dead_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def partial_of(path: Path) -> Path:
    host = re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)
    return path.with_name(f".{path.name}.{host}.{dead_process()}.partial")


def rename_lost(path: Path, content: bytes) -> None:
    partial_of(path).write_bytes(content)


def rename_and_data_lost(path: Path, content: bytes) -> None:
    partial_of(path).write_bytes(b"")


def half_under_the_other_name(path: Path, content: bytes) -> None:
    partial_of(path).write_bytes(content[: len(content) // 2])


def both_names(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    partial_of(path).write_bytes(content)


def data_lost(path: Path, content: bytes) -> None:
    path.write_bytes(b"")


def blocks_lost(path: Path, content: bytes) -> None:
    path.write_bytes(bytes(len(content)))


def last_block_lost(path: Path, content: bytes) -> None:
    kept = (len(content) - 1) // 512 * 512
    path.write_bytes(content[:kept] + bytes(len(content) - kept))


def first_block_lost(path: Path, content: bytes) -> None:
    path.write_bytes(bytes(512) + content[512:])


CRASHES = (
    rename_lost, rename_and_data_lost, half_under_the_other_name, both_names, data_lost, blocks_lost, last_block_lost,
    first_block_lost,
)  # fmt: skip


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.__name__)
def test_a_run_is_made_again_after_a_power_cut(tmp_path, whole, crash, record_property):
    output = tmp_path / "run.nc"
    crash(output, whole)
    assert train(output, "--force") == 0
    assert output.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]
    record_property("fault", ["a power cut: renames or blocks of a run are lost", 1, 1, True])


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.__name__)
def test_a_checkpoint_costs_at_most_itself_after_a_power_cut(tmp_path, whole, kept, crash, record_property):
    output, checkpoint = tmp_path / "run.nc", tmp_path / "kept" / "run.npz"
    checkpoint.parent.mkdir()
    crash(checkpoint, kept)
    assert train(output, "--checkpoint", checkpoint, "--checkpoint-seconds", 0) == 0
    assert output.read_bytes() == whole
    assert not list(tmp_path.rglob("*.partial"))
    assert not checkpoint.exists()
    record_property("fault", ["a power cut: renames or blocks of a checkpoint are lost", 1, 1, True])


@pytest.fixture
def results(tmp_path, monkeypatch, whole):
    """A folder of results with one file of the plan in it; the plan, and the place of the file."""
    monkeypatch.chdir(tmp_path)
    plan = Plan(load_config(OVERLAY))
    path = Path(run_file(plan.runs[0]))
    path.parent.mkdir(parents=True)
    return plan, path


@pytest.mark.parametrize("crash", CRASHES, ids=lambda crash: crash.__name__)
def test_the_workflow_clears_away_what_a_power_cut_left(results, whole, crash, record_property):
    """A worthless file is deleted, so that Snakemake makes it again; a whole one stays, and no partial one does."""
    plan, path = results
    crash(path, whole)
    told = []
    left_over.clear(plan, told.append)
    left = list(path.parent.iterdir())
    assert left == ([path] if crash is both_names else [])
    assert len(told) == (crash in (data_lost, blocks_lost, last_block_lost, first_block_lost))
    record_property("fault", ["a power cut: the workflow finds what is left", 1, 1, None])


@pytest.mark.parametrize("place", [0, 7, 4000, -90, -86, -80, -70, -30, -1])
def test_the_workflow_makes_a_file_with_a_flipped_bit_again(results, whole, place, record_property):
    """Anywhere: in the data, in the seal, in the words before it."""
    plan, path = results
    content = bytearray(whole)
    content[place] ^= 4
    path.write_bytes(content)
    assert is_damaged(path)
    told = []
    left_over.clear(plan, told.append)
    assert not path.exists()
    assert told == [f"{path}: damaged (its checksum does not fit); deleted, to be made again."]
    record_property("fault", ["a flipped bit, found by the workflow at its start", 1, 1, None])


@pytest.mark.parametrize("content", [b"a thesis", b"\x89HDF\r\n\x1a\n of another program", b"x" * 500])
def test_a_file_of_somebody_else_is_left_to_its_reader(results, content):
    plan, path = results
    path.write_bytes(content)
    left_over.clear(plan, pytest.fail)
    assert path.read_bytes() == content


def test_a_checkpoint_of_a_run_that_has_ended_is_cleared_away(tmp_path, monkeypatch, record_property):
    """Two processes worked on one run; one was told to stop after the other had finished."""
    from cbo_pipeline.training.checkpoint import save
    from cbo_pipeline.training.loop import Training

    monkeypatch.chdir(tmp_path)
    config = load_config(OVERLAY)
    plan, name = Plan(config), RunName("sine", "adam", 5, 1, 0)
    run = resolve(config, name)
    kept = Path("results", "checkpoints", f"{name}.npz")
    save(Training.start(run).advance(1), kept, "a fingerprint")
    left_over.clear(plan, pytest.fail)
    assert kept.exists()  # the run has not ended
    assert main(["train", "--settings", run.json, "--output", run_file(name), "--checkpoint", "other.npz"]) == 0
    left_over.clear(plan, pytest.fail)
    assert not kept.exists()
    record_property("fault", ["two processes on one run, the slower told to stop", 1, 1, None])


def test_folders_in_memory_of_a_killed_process_are_cleared_away(tmp_path, monkeypatch, record_property):
    from cbo_pipeline.results import netcdf

    assert left_over.MEMORY == netcdf.MEMORY
    monkeypatch.setattr(left_over, "MEMORY", tmp_path)
    old, new, other = (tmp_path / name for name in ("cbo_pipeline.0ld_a9zq", "cbo_pipeline.n3w_a9zq", "other.old"))
    for folder in (old, new, other):
        folder.mkdir()
    (old / "scratch.nc").write_bytes(b"half")
    long_ago = time.time() - 2 * left_over.HOUR
    for folder in (old, other):
        os.utime(folder, (long_ago, long_ago))
    left_over.clear_scratch()
    assert sorted(tmp_path.iterdir()) == [new, other]
    record_property("fault", ["a process killed while it puts a file together", 1, 1, None])


def test_the_folders_of_a_killed_process_are_known_by_their_names_and_contents(tmp_path, monkeypatch):
    """Those that a killed writer leaves are cleared away, and nothing else that begins like them."""
    import xarray as xr

    from cbo_pipeline.results import netcdf

    @contextlib.contextmanager
    def never_removed(**options):
        yield tempfile.mkdtemp(**options)

    def killed(_, path, **options):
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(left_over, "MEMORY", tmp_path)
    monkeypatch.setattr(netcdf, "MEMORY", tmp_path)
    monkeypatch.setattr(xr.Dataset, "to_netcdf", killed)
    monkeypatch.setattr(tempfile, "TemporaryDirectory", never_removed)
    with pytest.raises(KeyboardInterrupt):
        netcdf.write(xr.Dataset(), tmp_path / "run.nc")
    (left,) = tmp_path.glob("cbo_pipeline.*")
    mine = [tmp_path / f"cbo_pipeline.{name}" for name in ("git", "backup", "thesis_1")]
    for folder in mine:
        folder.mkdir()
        (folder / "thesis.tex").write_text("years of work")
    (mine[-1] / "scratch.nc").write_text("my own")
    link = tmp_path / "cbo_pipeline.shortcut"
    link.symlink_to(left)
    left_over.clear_scratch(now=time.time() + 2 * left_over.HOUR)
    assert not left.exists()
    assert all((folder / "thesis.tex").exists() for folder in mine)
    assert (mine[-1] / "scratch.nc").exists()
    assert link.is_symlink()


# --- No inodes left -------------------------------------------------------------------------------------------------


@pytest.fixture
def few_files(tmp_path):
    """A folder that can hold ten files and folders, itself among them."""
    folder = tmp_path / "few"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "nr_inodes=10,size=10m", "tmpfs", folder]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", folder], check=True)


def use_up(folder: Path, free: int) -> None:
    """Make empty files until so many more can be made."""
    made = []
    with contextlib.suppress(OSError):
        for k in range(20):
            made.append(folder / f"other{k}")
            made[-1].touch()
    for path in [p for p in made if p.exists()][:free]:
        path.unlink()


@pytest.mark.parametrize("free", [0, 1, 2])
def test_no_inodes_left_is_named_and_leaves_nothing(few_files, whole, free, capsys, record_property):
    """The run needs two: a folder and a file in it."""
    use_up(few_files, free)
    before = sorted(few_files.rglob("*"))
    output = few_files / "runs" / "run.nc"
    code = train(output)
    said = capsys.readouterr().err
    if free >= 2:
        assert code == 0, said
        assert output.read_bytes() == whole
    else:
        assert code == 2
        assert said.splitlines()[-1] == f"cbo-pipeline: {output}: No space left on device"
        assert [p for p in sorted(few_files.rglob("*")) if p != output.parent] == before
    for path in few_files.glob("other*"):
        path.unlink()
    assert train(output, "--force") == 0
    assert output.read_bytes() == whole
    record_property("fault", ["no inodes left", 1, 1, True])


def test_no_inode_for_a_checkpoint_costs_the_checkpoint(few_files, tmp_path, whole, capsys, record_property):
    use_up(few_files, 0)
    assert train(tmp_path / "run.nc", "--checkpoint", few_files / "kept.npz", "--checkpoint-seconds", 0) == 0
    assert (tmp_path / "run.nc").read_bytes() == whole
    assert capsys.readouterr().err.count("no checkpoint") == 1
    record_property("fault", ["no inodes left", 1, 1, True])


# --- No memory left -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("megabytes", [16, 48, 96, 192])
def test_a_process_that_gets_no_memory_leaves_nothing_and_runs_again(tmp_path, whole, megabytes, record_property):
    """It may die in any library, before ours can say a word."""
    output = tmp_path / "run.nc"
    limited = ["bash", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "bash"]
    done = finish([*limited, *train_command(RUN, output)], tmp_path)
    assert done.returncode != 0
    assert list(tmp_path.iterdir()) == []
    assert train(output) == 0
    assert output.read_bytes() == whole
    record_property("fault", ["out of memory (a limit of the process)", 1, 1, True])


def test_memory_that_runs_out_in_the_middle_leaves_the_checkpoint(tmp_path, record_property):
    """The limit falls to what the process has while it trains; what it has kept is whole."""
    run = run_of("adam", epochs=200_000)
    output, kept = tmp_path / "run.nc", tmp_path / "kept.npz"
    command = train_command(run, output, "--checkpoint", str(kept), "--checkpoint-seconds", "0.2")
    process = start(command, tmp_path)
    try:
        wait_until(kept.exists, seconds=300)
        resource.prlimit(process.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
        time.sleep(1.0)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
    finally:
        end(process)
    assert process.returncode != 0
    assert not output.exists()
    assert not list(tmp_path.glob(".*.partial"))
    short = run_of("adam", epochs=200_000)
    from cbo_pipeline.results import code
    from cbo_pipeline.training.checkpoint import resume_or_start
    from cbo_pipeline.training.loop import Training

    resumed, _ = resume_or_start(short, kept, code.fingerprint(short.method, short.problem))
    assert resumed.iteration > 0, said
    undisturbed = Training.start(short).advance(resumed.iteration)
    for layer, value in undisturbed.method.arrays(undisturbed.state)["particles"].items():
        assert (value == resumed.method.arrays(resumed.state)["particles"][layer]).all()
    record_property("fault", ["out of memory (a limit of the process)", 1, 1, True])


def test_python_without_memory_is_told_in_one_line(tmp_path, capsys, monkeypatch, record_property):
    from cbo_pipeline.training import loop

    def no_memory(*arguments, **options):
        raise MemoryError("Unable to allocate 3 TiB")

    monkeypatch.setattr(loop.Training, "steps", no_memory)
    assert train(tmp_path / "run.nc") == 2
    assert "not enough memory (Unable to allocate 3 TiB)" in clean_error(capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []
    record_property("fault", ["out of memory (a limit of the process)", 1, 1, None])


# --- A clock that jumps ---------------------------------------------------------------------------------------------

CLOCK = """
import itertools, time
real, calls = time.time, itertools.count()
time.time = lambda: real() + {jump} * (next(calls) % 3)
time.time_ns = lambda: int(time.time() * 1e9)
"""
JUMPS = {"an hour back": -3600.0, "a day back": -86400.0, "to 1970": -1.7e9, "a year on": 3.2e7}


@pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)
def test_a_clock_that_jumps_changes_no_byte(tmp_path, whole, jump, record_property):
    """It jumps with every second look at it, in a real process."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(CLOCK.format(jump=jump))
    path = f"{tmp_path / 'clock'}{os.pathsep}{environment()['PYTHONPATH']}"
    command = train_command(RUN, tmp_path / "out" / "run.nc", "--checkpoint-seconds", "0")
    done = finish(command, tmp_path, cold=True, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "run.nc").read_bytes() == whole
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run.nc"]
    record_property("fault", ["a clock that jumps", 1, 1, True])


@pytest.mark.parametrize("hours", [-24 * 365, -1, 1, 24 * 365])
def test_files_of_another_time_are_no_trouble(tmp_path, whole, hours, record_property):
    """A partial file of a dead process, a checkpoint and a run, all dated by a clock that was wrong."""
    output = tmp_path / "run.nc"
    rename_lost(output, whole)
    output.write_bytes(whole)
    then = time.time() + 3600 * hours
    for path in tmp_path.iterdir():
        os.utime(path, (then, then))
    assert train(output) == 0
    assert output.read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]
    record_property("fault", ["a clock that jumps", 1, 1, True])
