"""Every command that README and docs print is known here, and runs as printed in a fresh checkout.

The quick ones really run, with the sine at a scale of seconds; the long ones are planned: ``make -n``, ``snakemake
--dry-run``. A command that no table below knows fails the test, and so does one that no page prints any more.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

import warm
from cbo_pipeline.config import load_config
from checkout import compiled_for
from tiny import OVERLAY, ROOT

pytestmark = pytest.mark.workflow

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
# With these words a command begins that is named within a sentence. In a block every line is a command.
PROGRAMS = (
    r"(?:make|snakemake|cbo-pipeline|git|pip|conda|export|sudo|pytest|ruff|snakefmt|lint-imports|eval|find|\.|\$EDITOR"
    r"|python3?|bash|sh|head|tail|ncdump|sysctl|chrt|nice|echo|sbatch|squeue|sacct|scancel|scontrol|sinfo|qsub|qstat)"
)
SCRIPTS = Path(sysconfig.get_path("scripts"))
SLURM = "snakemake --workflow-profile workflow/profiles/slurm"
FIGURE = "snakemake --cores 8 fig2"

# Run as printed; in this order, all in one checkout.
RUN = (
    "make setup",
    ". .venv/bin/activate",
    "make setup && . .venv/bin/activate",
    FIGURE,
    "cbo-pipeline train --experiment sine --method cbo --seed 0 --output run.nc --set epochs=300",
    "cbo-pipeline show run.nc",
    "cbo-pipeline plot run.nc --output figure.pdf",
    'eval "$(cbo-pipeline completion)"',
    "cbo-pipeline check",
    "cbo-pipeline reference",
    "cbo-pipeline reference > docs/configuration.md",
    "export CBO_MEMORY_GB=500",
    "$EDITOR workflow/profiles/slurm/config.yaml",
    "$EDITOR workflow/profiles/grid_engine/config.yaml",
    f"{SLURM} --dry-run --quiet rules",
    "snakemake --dry-run --quiet rules",
    "snakemake --list",
    "snakemake --lint",
    "snakemake --unlock",
    "ruff format . && ruff check .",
    "snakefmt Snakefile workflow/rules",
    "lint-imports",
)
# Too long, or in need of a cluster: only planned.
PLANNED = (
    "make demo",
    "make demo PYTHON=python3.12",
    "make paper",
    "make report",
    "make report OF=paper",
    "make test",
    "make test-faults",
    "make faults",
    "make soak",
    "make bench",
    'make bench ONLY="bench_ot paper"',
    "make publish",
    "make publish ADD=yes",
    "make publish AGAIN=yes",
    "make publish REPEATED=yes",
    "make article",
    "make rulegraph",
    "snakemake --cores 8 --configfile workflow/demo.yaml --directory demo fig2",
    "snakemake --cores 64",
    "snakemake --cores 8 --config runs_per_job=20",
    "snakemake --cores 8 --set-threads train_mnist=4 --configfile workflow/horizon.yaml",
    SLURM,
    f"{SLURM} --configfile workflow/gpu.yaml --directory gpu comparison_cbo_adam",
    "pytest tests/unit/test_sine.py",
    "make quick",
    "make figures",
    "make certain",
    "make readings",
    "make horizon",
    "make verify",
    "python benchmarks/winners.py",
    "python benchmarks/mnist_trials.py",
    "python benchmarks/real_tables.py",
)
# Planned with the config of the project, since readings need all experiments.
OF_ALL = ("snakemake readings_sine",)
# The list of what a publication lacks, made as printed.
LISTED = "lacking=$(cbo-pipeline check --config workflow/many_seeds.yaml --lacking docs/reproduction)"
# The digest of a file, worked out and read.
SEAL = ("head -c -86 run.nc | sha256sum", "tail -n 1 run.nc")
# Not run here, for a reason.
ELSEWHERE = {
    '[ -z "$lacking" ] || snakemake --cores 8 --configfile workflow/many_seeds.yaml -- $lacking': "hours; what is"
    " planned: OF_ALL",
    "cbo-pipeline check --readings": "test_claims_readings",
    "git clone <this repository> cbo_pipeline && cd cbo_pipeline": "the checkout of this test stands for it",
    "cbo-pipeline train --experiment sine --method isotropic_cbo --output isotropic.nc --set epochs=20": "test_docs",
    "snakemake --cores 2 results/summary/sine/isotropic_cbo_M100_N200.nc": "test_docs",
    "cbo-pipeline train --config cosine.yaml --experiment cosine --method cbo --output cosine.nc": "test_docs",
    "snakemake --cores 2 results/summary/cosine.nc --configfile cosine.yaml": "test_docs",
    "cbo-pipeline fetch-mnist": "test_mnist_data",
    "cbo-pipeline train --experiment mnist --method hybrid --seed 0 --threads 4 --output run.nc": "mnist_workflow",
    "cbo-pipeline train --data table.csv --target y --method hybrid --output run.nc": "test_docs",
    "cbo-pipeline predict run.nc --data new.csv --output predictions.csv": "test_docs",
    "snakemake --cores 2 --configfile own.yaml": "test_docs",
    "conda config --set channel_priority strict": "needs conda",
    "conda env create --name cbo-driver --file envs/snakemake.yaml && conda activate cbo-driver": "needs conda",
    f"{SLURM} --software-deployment-method conda": "needs conda",
    "pip install snakemake-executor-plugin-cluster-generic": "needs a network",
    "snakemake --executor cluster-generic --jobs 1000 --retries 3 --keep-going --rerun-incomplete --latency-wait 60"
    ' --cluster-generic-submit-cmd "qsub -V -l mem={resources.mem_mb}mb,walltime=0:{resources.runtime}:0"'
    " --cluster-generic-cancel-cmd qdel": "needs PBS",
    "pip install snakemake-executor-plugin-lsf": "needs a network",
    "snakemake --executor lsf --jobs 1000 --retries 3 --keep-going --rerun-incomplete --latency-wait 60"
    " --default-resources lsf_project=PROJECT lsf_queue=QUEUE mem_mb=1000 runtime=30": "needs LSF",
    "snakemake --workflow-profile workflow/profiles/grid_engine": "test_grid_engine",
    "cbo-pipeline train --experiment sine --method cbo --seeds 0-19 --output 'runs/seed{seed}.nc'": "shared_jobs",
    f"{SLURM} --config runs_per_job=20": "test_slurm",
    "sudo apt install python3-venv": "needs Debian and a network",
    "pytest": "all unit tests, as make quick; with the name of a file it is planned above",
    "git tag v1.0.0": "a release",
    "echo 19 > /proc/self/autogroup": "would make the tests give way to everything else",
    "sysctl kernel.sched_autogroup_enabled=0": "needs root, and changes the machine",
    "chrt --idle 0 snakemake --cores 1 ...": "whatever is run; it goes with the line before",
}
# Commands that are only named, not printed to be typed.
NAMED = {
    "cbo-pipeline compare results docs/reproduction",
    "cbo-pipeline verify",
    "cbo-pipeline verify results",
    "cbo-pipeline adopt",
    "cbo-pipeline adopt docs/reproduction --epochs 20",
}
NAMED |= {
    "git log -- src/cbo_pipeline/claims",
    "cbo-pipeline plot",
    "cbo-pipeline readings",
    "cbo-pipeline train",
    "cbo-pipeline train --settings",
    "ncdump -h",
    "cbo-pipeline show FILE",
    "snakemake ... results/summary/sine.nc",
    "snakemake ... results/summary/sine.nc --batch summarise_curve=1/10",
}


def commands(page: Path) -> list[str]:
    """The commands of a page, in order: those of its shell blocks, indented or fenced, and those in backticks.

    A line of a block that is no command has a gap: a list of files and what they are.
    """
    text = page.read_text(encoding="utf-8")
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^```(?:console|sh|bash)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    blocks += [
        re.sub(r"^    ", "", block, flags=re.MULTILINE) for block in re.findall(r"(?:^ {4}.*\n)+", prose, re.M)
    ]
    lines = []
    for block in blocks:
        joined = re.sub(r" *\\\n\s*", " ", re.sub(r" *\|\n\s*", " | ", block))
        lines += [re.sub(r"\s+#.*$", "", line).strip() for line in joined.splitlines()]
    lines = [line for line in lines if line and not re.search(r"\S  +\S", line)]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"^ {4}.*$", "", prose, flags=re.MULTILINE))
    return lines + [span for span in spans if re.match(rf"{PROGRAMS} \S", span)]


PRINTED = list(dict.fromkeys(command for page in PAGES for command in commands(page)))
# The one pipe: it reads what training left, so it runs after the figure.
PIPES = tuple(command for command in PRINTED if command.startswith("find results/benchmarks"))
KNOWN = {*RUN, *PLANNED, *OF_ALL, LISTED, *SEAL, *ELSEWHERE, *NAMED, *PIPES}


def test_every_command_is_known_and_none_is_forgotten():
    assert not sorted(set(PRINTED) - KNOWN), "a page prints a command that no test runs"
    assert not sorted(KNOWN - set(PRINTED)), "no page prints this any more"
    assert len(PIPES) == 1


def test_commands_are_found_in_all_their_forms(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "See `make demo`, `results/`, `python a.py` and `cbo-pipeline show x`.\n\n    make a  # why\n"
        "    snakemake --cores 1 \\\n      --x y\n    x=$(anything)\n    anything\n\n    Snakefile   a file\n\n"
        "```python\nmake = 1\n```\n\n```console\ngit c |\n  sort\n```\n"
    )
    assert commands(page) == [
        "git c | sort", "make a", "snakemake --cores 1 --x y", "x=$(anything)", "anything",
        "make demo", "python a.py", "cbo-pipeline show x",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the project with its environment made and the sine at a scale of seconds."""
    root = tmp_path_factory.mktemp("fresh") / "project"
    anywhere = shutil.ignore_patterns("__pycache__", ".*_cache", "*.egg-info", ".hypothesis", ".snakemake")
    at_the_top = {"build", ".git", ".venv", ".bench-venv", "demo", "published", "results", "data"}

    def left_out(folder: str, names: list[str]) -> set[str]:
        return anywhere(folder, names) | (at_the_top if folder == str(ROOT) else set())

    shutil.copytree(ROOT, root, ignore=left_out)
    config = load_config(OVERLAY)
    config = {"experiments": {name: config["experiments"][name] for name in ("sine", "mnist")}}  # quicker to plan
    (root / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    # What the overlay leaves out is not in this config any more.
    kept = [line for line in OVERLAY.read_text().splitlines() if not line.endswith(": null")]
    (root / "workflow" / "demo.yaml").write_text("\n".join(kept))
    venv.create(root / ".venv")
    (packages,) = (root / ".venv").glob("lib/python*/site-packages")
    places = [p for p in sys.path if p.endswith("-packages")]
    (packages / "shared.pth").write_text("".join(f"import site; site.addsitedir({p!r})\n" for p in places))
    # ruff is a program of its own; its Python module would call the script, and so on for ever. The other has none.
    for name in ("ruff", "lint-imports"):
        (root / ".venv" / "bin" / name).symlink_to(SCRIPTS / name)
    for name in ("snakemake", "cbo-pipeline", "pytest", "snakefmt"):
        script = root / ".venv" / "bin" / name
        python = warm.python() if name in ("snakemake", "cbo-pipeline") else script.with_name("python")
        script.write_text(f'#!/bin/sh\nexec {python} -m {name.replace("-", "_")} "$@"\n')
        script.chmod(0o755)
    for stamp in (".workflow", ".dev"):  # what `make` would have installed is there
        (root / ".venv" / stamp).touch()
    (root / ".venv" / ".place").write_text(f"{root}\n")
    return root


def run(checkout: Path, command: str) -> str:
    """What a shell prints that has entered the environment."""
    told = {"PYTHONPATH": str(checkout / "src"), "EDITOR": "true", "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"}
    told |= compiled_for(checkout)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "CBO_", "PYTEST_"))}
    done = subprocess.run(
        ["bash", "-c", f". .venv/bin/activate\n{command}"],
        cwd=checkout, env={**kept, **told}, capture_output=True, text=True, timeout=1200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def made(checkout) -> Path:
    """The checkout after the README's command for one figure, as printed."""
    run(checkout, FIGURE)
    assert (checkout / "results" / "figures" / "sine_training.png").is_file()
    return checkout


@pytest.mark.parametrize("command", [command for command in RUN if command != FIGURE])
def test_it_runs_as_printed(made, command):
    run(made, command)


def test_the_pipe_counts_seconds_by_experiment_and_method(made):
    counted = run(made, PIPES[0])
    assert re.search(r"^sine/cbo +2 jobs +\d+ s$", counted, re.MULTILINE)
    assert re.search(r"^summary/sine +2 jobs +\d+ s$", counted, re.MULTILINE)


@pytest.mark.parametrize("command", PLANNED)
def test_it_can_be_planned(checkout, command):
    program, _, rest = command.partition(" ")
    if program == "python":  # what it imports is there; it is not run
        run(checkout, f"cd {Path(rest).parent} && python -c 'import {Path(rest).stem}'")
        return
    dry = {
        "make": "--dry-run",
        "snakemake": "--dry-run --quiet all",
        "pytest": "--collect-only",
    }
    run(checkout, f"{program} {rest} {dry[program]}")


@pytest.mark.parametrize("command", OF_ALL)
def test_it_can_be_planned_with_the_config_of_the_project(command, tmp_path):
    program, _, rest = command.partition(" ")
    where = ["--snakefile", ROOT / "Snakefile", "--directory", tmp_path]
    done = subprocess.run(
        [warm.python(), "-m", program, *rest.split(), *where, "--dry-run", "--quiet", "rules"],
        cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^train_reading +\d{3,}$", done.stdout + done.stderr, re.MULTILINE)


def test_what_a_publication_lacks_is_listed_as_printed():
    """With the config of the project. What is listed are targets: tests/unit/test_claims_readings.py."""
    known = {**os.environ, "PATH": f"{SCRIPTS}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        ["bash", "-ec", f"{LISTED}\nprintf '%s\\n' $lacking"],
        cwd=ROOT, env=known, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(re.fullmatch(r"results/(readings/\S+/)?summary/\S+\.nc", path) for path in done.stdout.split())


def test_a_file_ends_with_the_digest_that_is_worked_out(made):
    run(made, next(command for command in RUN if "--output run.nc" in command))
    worked_out, read = (run(made, command) for command in SEAL)
    digest = worked_out.split()[0]
    assert re.fullmatch("[0-9a-f]{64}", digest)
    assert digest in read


def test_the_readmes_python_reads_the_run_that_its_command_made(made):
    run(made, next(command for command in RUN if command.startswith("cbo-pipeline train")))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (made / "readme.py").write_text(code)
    assert '"epochs":300' in run(made, "python readme.py")
