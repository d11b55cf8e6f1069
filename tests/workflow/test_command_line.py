"""The command line as a person meets it: help, show, completion, the progress bar, Ctrl-C and continuing."""

import io
import json
import os
import pty
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cbo_pipeline import claims
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.cli import main as cli
from cbo_pipeline.cli import parser, progress
from cbo_pipeline.config import load_config
from cbo_pipeline.figures import FIGURES
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.pages import show
from cbo_pipeline.results import costs, netcdf, runs
from cbo_pipeline.results import summaries as summarise
from cbo_pipeline.training import cost
from cbo_pipeline.training.loop import History, train
from tiny import OVERLAY, environment, run_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Runs and a summary of two curves."""
    folder = tmp_path_factory.mktemp("shown")
    for method in ("cbo", "adam"):
        run = run_of(method, epochs=9)
        netcdf.write(runs.dataset(run, train(run)), folder / f"{method}.nc")
        netcdf.write(summarise.summarise_curve([folder / f"{method}.nc"]), folder / f"{method}_summary.nc")
    both = [netcdf.read(folder / f"{method}_summary.nc") for method in ("cbo", "adam")]
    netcdf.write(summarise.join(both), folder / "summary.nc")
    return folder


def printed(capsys, *arguments) -> str:
    assert cli.main([str(a) for a in arguments]) == 0
    return capsys.readouterr().out


def test_the_help_introduces_every_command(capsys):
    assert cli.main(["--help"]) == 0
    said = capsys.readouterr().out
    for name, command in parser.build().commands.items():
        assert re.search(rf"^  {name}\s+{re.escape(command.description)}$", said, re.MULTILINE)
        assert all(a.help for a in command._actions), f"an option of {name} has no help"
    assert max(map(len, said.splitlines())) <= 130


def test_a_mistyped_command_is_guessed(capsys):
    assert cli.main(["trian"]) == 2
    assert (
        capsys.readouterr().err == "cbo-pipeline: no command 'trian'; did you mean train? (see cbo-pipeline --help)\n"
    )


def test_a_run_is_shown_as_table_and_line(folder, capsys):
    said = printed(capsys, "show", folder / "cbo.nc")
    run = netcdf.read(folder / "cbo.nc")
    for epoch in (0, 1, 9):
        risk, variance = (re.escape(f"{float(run[name][epoch]):.3e}") for name in ("risk", "variance"))
        row = rf"^ *{epoch} +{risk} .* {variance}$"
        assert re.search(row, said, re.MULTILINE)
    assert re.search(r"[\u2801-\u28ff]", said)
    assert "epochs 9" in said
    assert max(map(len, said.splitlines())) <= 80


def test_a_summary_is_shown_with_a_letter_for_each_curve(folder, capsys):
    said = printed(capsys, "show", folder / "summary.nc")
    assert re.search(r"^a +cbo_M5_N8 ", said, re.MULTILINE)
    assert re.search(r"^b +adam_M5_N1 ", said, re.MULTILINE)
    plot = said.split("\n\n")[-1]
    assert "a" in plot
    assert "b" in plot
    one = printed(capsys, "show", folder / "cbo_summary.nc")
    assert re.search(r"[\u2801-\u28ff]", one)


def test_a_curve_whose_runs_diverged_is_shown_to_its_last_epoch(folder, capsys, tmp_path):
    data = netcdf.read(folder / "cbo_summary.nc")
    epochs = int(data["epoch"][-1])
    data["risk_over_seeds"].loc[{"statistic": ["median", "q25", "q75"], "epoch": epochs}] = np.nan
    netcdf.write(data, tmp_path / "diverged.nc")
    said = printed(capsys, "show", tmp_path / "diverged.nc")
    assert re.search(rf"cbo_M5_N8 +\d+ +{epochs} +inf +inf +inf", said)


def test_the_line_falls_where_the_curve_falls():
    x = np.arange(101)
    lines = show._line(x, np.linspace(0, 1, 101))
    shown = np.array([[ord(c) != 0x2800 for c in line] for line in lines])
    rows = [np.flatnonzero(shown[:, c]).mean() for c in range(show.WIDTH)]
    assert np.all(np.diff(rows) >= 0)
    assert rows[0] == 0
    assert rows[-1] == show.HEIGHT - 1
    assert shown.any(0).all(), "the line has no gaps"


@pytest.mark.parametrize("values", [[np.nan, np.nan], [0.0, 0.0], [1.0, np.nan], [1.0, 1.0], [np.inf, 2.0]])
def test_a_plot_of_what_cannot_be_plotted(values):
    assert show._plot(np.array([0, 1]), {"risk": np.array(values)})


def test_verdicts_and_costs_are_shown_too(tmp_path, capsys):
    pages.write_verdicts(claims.judge_all(Evidence()), tmp_path / "claims.json")
    said = printed(capsys, "show", tmp_path / "claims.json")
    assert all(claim.claim in said for claim in claims.CLAIMS)
    costs.write(cost.measure(run_of(), 0.0), tmp_path / "cost.json")
    said = printed(capsys, "show", tmp_path / "cost.json")
    told = json.loads((tmp_path / "cost.json").read_text())
    assert f"{told['state_bytes'] / 1e6:.4g} MB kept" in said


def completed(tmp_path: Path, *words: str) -> list[str]:
    """What bash offers after these words."""
    if shutil.which("bash") is None:
        pytest.skip("no bash on this machine: completion is not tried")
    script = subprocess.run(
        [sys.executable, "-m", "cbo_pipeline", "completion"], capture_output=True, text=True, check=True
    ).stdout
    line = " ".join(f"'{word}'" for word in ("cbo-pipeline", *words))
    script += f'\nCOMP_WORDS=({line}); COMP_CWORD={len(words)}; _cbo_pipeline; printf "%s\\n" "${{COMPREPLY[@]}}"\n'
    done = subprocess.run(["bash", "-eu"], input=script, capture_output=True, text=True, cwd=tmp_path, check=True)
    return done.stdout.split()


def test_completion_in_a_real_bash(tmp_path):
    assert completed(tmp_path, "tr") == ["train"]
    assert completed(tmp_path, "train", "--exp") == ["--experiment"]
    assert completed(tmp_path, "train", "--experiment", "") == list(load_config()["experiments"])
    assert "hybrid" in completed(tmp_path, "train", "--experiment", "sine", "--method", "")
    assert completed(tmp_path, "figure", "sine_t") == ["sine_training"]
    assert set(completed(tmp_path, "figure", "")) == set(FIGURES)
    assert completed(tmp_path, "train", "--output", "") == []  # files, by bash itself


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [30, 60, 80, 200])
def test_the_bar_fits_into_one_line_of_the_terminal(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream, history = Terminal(), History(10, 1, np.arange(11))
    history.record(10, risk=0.5)
    progress.Progress("experiment/method/M100_N200_seed0", 10, 0, stream)(10, history)
    (line,) = stream.getvalue().removeprefix("\r").removesuffix("\n").split("\n")
    text = line.removesuffix("\033[K")
    assert len(text) < columns
    assert ("█" in text) == (columns >= 100)
    if columns >= 80:
        assert "10/10" in text


def test_ctrl_c_on_a_terminal_leaves_a_checkpoint_and_the_same_command_goes_on(tmp_path):
    """A real terminal: bar, Ctrl-C, the sentence that tells how to go on; and then the same bytes."""
    command = [sys.executable, "-m", "cbo_pipeline", "train", "--config", str(OVERLAY), "--experiment", "sine"]
    command += ["--method", "cbo", "--set", "epochs=3000", "--output"]
    code, said = in_terminal([*command, "run.nc"], tmp_path, interrupt_at="epochs/s")
    assert code == 130
    assert "the same command continues from run.nc.checkpoint" in said
    assert (tmp_path / "run.nc.checkpoint").is_file()
    assert not (tmp_path / "run.nc").exists()
    code, said = in_terminal([*command, "run.nc"], tmp_path)
    assert code == 0
    assert "continuing from run.nc.checkpoint" in said
    assert re.search(r"risk \S+ at the start, \S+ after 3000 epochs; written to run.nc", said)
    assert "cbo-pipeline show run.nc" in said
    assert not (tmp_path / "run.nc.checkpoint").exists()
    subprocess.run([*command, "other.nc"], cwd=tmp_path, env=environment(), capture_output=True, check=True)
    assert (tmp_path / "run.nc").read_bytes() == (tmp_path / "other.nc").read_bytes()


def in_terminal(command: list[str], folder: Path, interrupt_at: str | None = None) -> tuple[int, str]:
    """Exit code and output of a command in a terminal; Ctrl-C is typed once the words are seen."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["setsid", "--ctty", *command] if shutil.which("setsid") else command,
        cwd=folder, env=environment(), stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    said = b""
    while select.select([ours], [], [], 120)[0]:
        try:
            new = os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
        if not new:
            break
        said += new
        if interrupt_at and interrupt_at.encode() in said:
            os.write(ours, b"\x03")
            interrupt_at = None
    os.close(ours)
    return process.wait(60), said.decode()
