"""Where a command runs: standard streams that are closed, full or without Unicode; strange environment variables."""

import io
import os
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest

from cbo_pipeline import claims
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.cli import progress, streams
from cbo_pipeline.cli.main import main
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.training.history import History
from cbo_pipeline.training.loop import train
from refusals import refusal
from tiny import OVERLAY, environment, finish, run_of, train_command

RUN = run_of(epochs=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A run and verdicts, to be shown."""
    folder = tmp_path_factory.mktemp("files")
    netcdf.write(runs.dataset(RUN, train(RUN)), folder / "run.nc")
    pages.write_verdicts(claims.judge_all(Evidence()), folder / "claims.json")
    return folder


def in_shell(command: list[str], redirection: str, folder, **variables: str) -> subprocess.CompletedProcess:
    """A command with its streams redirected by a shell; what the shell itself can still see."""
    return finish(["bash", "-c", f"{shlex.join(command)} {redirection}"], folder, **variables)


def cbo(*words) -> list[str]:
    return [sys.executable, "-m", "cbo_pipeline", *map(str, words)]


# --- Standard streams ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["show", "run.nc"], ["--help"], ["--version"], ["completion"]], ids=" ".join)
def test_output_that_does_not_arrive_is_an_error(folder, words, record_property):
    done = in_shell(cbo(*words), "> /dev/full", folder)
    assert (done.returncode, done.stderr) == (2, "cbo-pipeline: standard output: No space left on device\n")
    record_property("refused", "a standard stream that cannot be written")


def test_closed_output_is_no_error(folder, record_property):
    done = in_shell(cbo("show", "run.nc"), ">&-", folder)
    assert (done.returncode, done.stderr) == (0, "")
    record_property("fault", ["standard streams closed, full or broken", 1, 1, None])


def test_a_reader_that_has_enough_is_no_error(folder, record_property):
    """``cbo-pipeline reference | head``: nothing is said, not even at exit."""
    process = subprocess.Popen(
        cbo("reference"), cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout.readline().startswith("# The configuration")
    process.stdout.close()
    assert (process.wait(60), process.stderr.read()) == (0, "")
    process.stderr.close()
    record_property("fault", ["standard streams closed, full or broken", 1, 1, None])


@pytest.mark.parametrize("redirection", ["2> /dev/full", "2>&-", "<&- >&- 2>&-"])
def test_a_run_survives_a_log_that_cannot_be_written(folder, tmp_path, redirection, record_property):
    """A file that is opened while standard error is closed must not become standard error: bytes tell."""
    done = in_shell(train_command(RUN, tmp_path / "run.nc"), redirection, tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.nc").read_bytes() == (folder / "run.nc").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]
    record_property("fault", ["standard streams closed, full or broken", 1, 1, True])


def test_a_run_survives_a_log_whose_reader_is_gone(folder, tmp_path, record_property):
    run = run_of(epochs=400)
    process = subprocess.Popen(
        train_command(run, tmp_path / "run.nc"), env=environment(), stderr=subprocess.PIPE, text=True
    )
    process.stderr.readline()
    process.stderr.close()
    assert process.wait(120) == 0
    netcdf.read(tmp_path / "run.nc", "run")
    record_property("fault", ["standard streams closed, full or broken", 1, 1, None])


@pytest.mark.parametrize("redirection", ["2>&-", "2> /dev/full"])
def test_a_refusal_that_nobody_can_read_still_has_its_code(folder, redirection, record_property):
    assert in_shell(cbo("show", "none.nc"), redirection, folder).returncode == 2
    record_property("refused", "a standard stream that cannot be written")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
@pytest.mark.parametrize("name", ["run.nc", "claims.json"])
def test_a_terminal_without_unicode_gets_plain_letters(folder, capfd, monkeypatch, encoding, name, record_property):
    output = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", output)
    assert main(["show", str(folder / name)]) == 0
    text = output.buffer.getvalue().decode(encoding)
    monkeypatch.undo()
    assert text.isascii() == (encoding != "utf-8")
    assert "\\u" not in text
    assert ("*" if name == "run.nc" else "not tested at this scale") in text or encoding == "utf-8"
    record_property("fault", ["a terminal without Unicode", 1, 1, None])


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding):
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("encoding", "sign"), [("ascii", "#"), ("utf-8", "█")])
def test_the_bar_has_signs_that_the_terminal_knows(monkeypatch, encoding, sign):
    monkeypatch.setenv("COLUMNS", "120")
    stream, history = Terminal(encoding), History(10, 1, np.arange(11))
    history.record(10, risk=0.5)
    progress.Progress("a run", 10, 0, stream)(10, history)
    assert sign in stream.buffer.getvalue().decode(encoding)


def test_a_terminal_of_an_unknown_encoding_knows_plain_letters_only():
    class Strange:
        encoding = "klingon"

    assert not streams.can_show("█", Strange())


@pytest.mark.parametrize("columns", ["", "abc", "0", "-5", "1", "99999999"])
def test_any_width_of_a_terminal_will_do(monkeypatch, capsys, columns, record_property):
    monkeypatch.setenv("COLUMNS", columns)
    stream, history = Terminal("utf-8"), History(10, 1, np.arange(11))
    history.record(10, risk=0.5)
    progress.Progress("a run", 10, 0, stream)(10, history)
    assert main(["train", "--help"]) == 0
    assert "--experiment" in capsys.readouterr().out
    record_property("fault", ["a strange environment variable", 1, 1, None])


def test_ctrl_c_before_training_is_silent(tmp_path, record_property):
    """While the libraries are loaded, Python would print a traceback."""
    process = subprocess.Popen(
        cbo("check"), cwd=tmp_path, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    try:
        process.wait(0.6)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    # On a busy machine the signal may come before Python has started to listen to it, and simply ends the process.
    assert (process.returncode in (0, 130, -signal.SIGINT), said) == (True, "")
    record_property("fault", ["Ctrl-C at an early moment", 1, 1, None])


def test_ctrl_c_is_no_bug_where_a_library_turns_it_into_an_error(monkeypatch, capsys, record_property):
    def load(arguments):
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise RuntimeError("Error calling __set_name__") from None

    monkeypatch.setattr("cbo_pipeline.cli.main.run", load)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # pytest's workers ignore the signal
    try:
        assert main(["check"]) == 130
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == ""
    record_property("fault", ["Ctrl-C at an early moment", 1, 1, None])


# --- Environment variables ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["much", "-1", "0", "nan", "inf", "1e400", "5 GB"])
def test_a_memory_that_is_no_number_is_refused(folder, capsys, monkeypatch, value, record_property):
    monkeypatch.setenv("CBO_MEMORY_GB", value)
    error = refusal(capsys, ["train", "--settings", RUN.json, "--output", folder / "new.nc"], folder)
    assert (error.code, error.key) == ("wrong-type", "CBO_MEMORY_GB"), error
    assert refusal(capsys, ["check"], folder).key == "CBO_MEMORY_GB"
    record_property("refused", "a strange environment variable")


def test_too_little_memory_is_told_with_the_key_that_takes_most(folder, capsys, monkeypatch, record_property):
    monkeypatch.setenv("CBO_MEMORY_GB", "1e-9")
    error = refusal(capsys, ["train", "--settings", RUN.json, "--output", folder / "new.nc"], folder)
    assert error.code == "memory"
    record_property("refused", "a strange environment variable")


@pytest.fixture
def plugins(tmp_path):
    """Folders that CBO_PLUGINS may name, by what is wrong with them."""
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "taken" / "methods").mkdir(parents=True)
    (tmp_path / "taken" / "methods" / "cbo.py").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "code"), [("nowhere", "unreadable"), ("file", "unreadable"), ("empty", "unreadable"), ("taken", "twice")]
)
def test_a_folder_without_plugins_is_refused(plugins, capsys, monkeypatch, name, code, record_property):
    monkeypatch.setenv("CBO_PLUGINS", f"{plugins / name}{os.pathsep}")
    error = refusal(capsys, ["train", "--settings", RUN.json, "--output", plugins / "new.nc"], plugins)
    assert (error.code, error.key) == (code, "CBO_PLUGINS"), error
    record_property("refused", "a strange environment variable")


BROKEN = {
    "a syntax error": "def",
    "an import that fails": "import nothing_of_this_name",
    "an exception": "raise ZeroDivisionError",
    "an exit": "raise SystemExit(3)",
    "nothing in it": "",
}


@pytest.mark.parametrize("source", BROKEN.values(), ids=BROKEN)
def test_a_broken_plugin_breaks_only_what_names_it(tmp_path, folder, capsys, monkeypatch, source, record_property):
    name = f"broken_{abs(hash(source))}"  # Python keeps modules that were loaded
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / f"{name}.py").write_text(source)
    monkeypatch.setenv("CBO_PLUGINS", str(tmp_path))
    assert main(["train", "--settings", RUN.json, "--output", str(folder / "run.nc")]) == 0
    capsys.readouterr()
    settings = RUN.json.replace('"method":"cbo"', f'"method":"{name}"')
    error = refusal(capsys, ["train", "--settings", settings, "--output", folder / "new.nc"], folder)
    assert (error.code, error.key) == ("broken-plugin", f"methods.{name}"), error
    record_property("refused", "a broken plugin")


ENDING = """
from dataclasses import dataclass

from cbo_pipeline.methods.cbo import CBO


@dataclass(frozen=True)
class Ending(CBO):
    def move(self, state, view, clock, noise):
        raise SystemExit({code!r})
"""


@pytest.mark.parametrize("code", ["the licence server is gone", None])
def test_a_method_that_ends_the_program_is_a_failure(tmp_path, folder, capsys, monkeypatch, code, record_property):
    """Not a success without a file, and with several seeds the others go on."""
    name = f"ending_{'told' if code else 'untold'}"
    (tmp_path / "methods").mkdir()
    (tmp_path / "methods" / f"{name}.py").write_text(ENDING.format(code=code))
    monkeypatch.setenv("CBO_PLUGINS", str(tmp_path))
    settings = RUN.json.replace('"method":"cbo"', f'"method":"{name}"')
    error = refusal(capsys, ["train", "--settings", settings, "--output", folder / "new.nc"], folder)
    assert error.code == "ended", error
    assert (code or "SystemExit") in str(error)
    several = ["--seeds", "0-1", "--output", str(folder / "new_{seed}.nc")]
    assert main(["train", "--settings", settings, *several]) == 1
    assert capsys.readouterr().err.count("ended by SystemExit") == 2
    record_property("refused", "a broken plugin")


MNIST = ["train", "--experiment", "mnist", "--method", "adam", "--output", "new.nc", "--set", "epochs=1"]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda path: None, "no-mnist"),
        (lambda path: path.write_text("a file"), "no-mnist"),
        (lambda path: path.mkdir(), "no-mnist"),
        (lambda path: (path / "MNIST" / "arrays.npy").mkdir(parents=True), "no-mnist"),
        (
            lambda path: ((path / "MNIST").mkdir(parents=True), (path / "MNIST/arrays.npy").write_bytes(b"cut")),
            "damaged",
        ),
    ],
    ids=["nowhere", "a file", "an empty folder", "a folder in its place", "a damaged file"],
)
def test_data_that_are_not_there_are_named_with_the_remedy(
    tmp_path, capsys, monkeypatch, make, code, record_property
):
    make(tmp_path / "data folder")
    monkeypatch.setenv("CBO_DATA_DIR", str(tmp_path / "data folder"))
    monkeypatch.chdir(tmp_path)
    error = refusal(capsys, MNIST, tmp_path)
    assert error.code == code, error
    assert error.file == str(tmp_path / "data folder" / "MNIST" / "arrays.npy")
    assert "fetch-mnist --data-dir" in str(error)
    record_property("refused", "a strange environment variable")


def test_nothing_else_in_the_environment_changes_a_byte(folder, tmp_path, record_property):
    """Variables of Python, numba, HDF5, the terminal and the shell, all spoiled at once."""
    strange = {
        "HOME": "/nowhere", "TMPDIR": "/nowhere", "XDG_CACHE_HOME": "/dev/null", "LANG": "xx_YY.nonsense",
        "OMP_NUM_THREADS": "abc", "MKL_NUM_THREADS": "0", "NUMBA_NUM_THREADS": "many", "COLUMNS": "abc",
        "HDF5_USE_FILE_LOCKING": "banana", "MPLBACKEND": "banana", "PYTHONIOENCODING": "ascii", "TERM": "",
        "PYTHONWARNINGS": "ignore",
    }  # fmt: skip
    done = finish(train_command(RUN, tmp_path / "run.nc"), tmp_path, cold=True, **strange)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.nc").read_bytes() == (folder / "run.nc").read_bytes()
    record_property("fault", ["a strange environment variable", len(strange), len(strange), True])


def test_kernels_are_compiled_in_memory_where_none_can_be_kept(folder, tmp_path, record_property):
    (tmp_path / "a file").write_text("")
    done = finish(train_command(RUN, tmp_path / "run.nc"), tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "a file"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.nc").read_bytes() == (folder / "run.nc").read_bytes()
    record_property("fault", ["a strange environment variable", 1, 1, True])


def test_a_matplotlibrc_of_the_user_changes_no_figure(tmp_path, record_property):
    draw = cbo("figure", "meanfield_diagram", "--output")
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "matplotlibrc").write_text("lines.linewidth: 9\naxes.grid: banana\nfont.size: 30\n")
    assert finish([*draw, "own.png"], tmp_path / "own", cold=True, MPLBACKEND="banana").returncode == 0
    assert finish([*draw, "plain.png"], tmp_path, cold=True).returncode == 0
    assert (tmp_path / "own" / "own.png").read_bytes() == (tmp_path / "plain.png").read_bytes()
    record_property("fault", ["a strange environment variable", 1, 1, True])


# --- Nobody is warned of what does not concern them ---------------------------------------------------------------


def test_our_own_config_is_checked_without_a_warning(capsys):
    assert main(["check"]) == 0
    assert capsys.readouterr().err == ""


def test_a_config_beyond_the_condition_is_told_so_once(tmp_path, capsys):
    """... unless it says that it means it."""
    overlay = "only_experiments: [sine]\nexperiments: {sine: {%s methods: {cbo: {sigma_squared: 2.5}}}}\n"
    own = tmp_path / "own.yaml"
    own.write_text(overlay % "")
    assert main(["check", "--config", str(OVERLAY), "--config", str(own)]) == 0
    assert capsys.readouterr().err.count("consensus is not guaranteed") == 1
    own.write_text(overlay % "expect_no_consensus: true,")
    assert main(["check", "--config", str(OVERLAY), "--config", str(own)]) == 0
    assert capsys.readouterr().err == ""
