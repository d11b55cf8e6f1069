"""What the rules share: the checked config, the names of all files, the command of the package."""

import json
import shlex
import sys
import warnings
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger

# The checkout's own package, installed or not: the driver must agree with the jobs on what a run is.
sys.path.insert(0, f"{workflow.basedir}/src")

from cbo_pipeline import figures
from cbo_pipeline import config as settings
from cbo_pipeline.config import loading, memory
from cbo_pipeline.problems import _mnist_files as mnist_data
from cbo_pipeline.results import code as sources
from cbo_pipeline.errors import UserError


def checked(overlays, changes):
    """The config, refused with one line that names the key before any job starts."""
    try:
        config = loading.config_of_workflow(overlays, changes)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            settings.check_config(config)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    for warning in caught:
        logger.warning(str(warning.message))
    return config


CONFIG = checked(workflow.overwrite_configfiles, workflow.config_settings.config)
RUNS = tuple(settings.runs(CONFIG))
CURVES = tuple((c.experiment, c.variant, c.M, c.N) for c in settings.curves(CONFIG))
ENV = f"{workflow.basedir}/envs/cbo.yaml"
MNIST_EXPERIMENTS = [
    e for e, content in CONFIG["experiments"].items() if content.get("problem", e) == "mnist"
]
OTHER_EXPERIMENTS = [e for e in CONFIG["experiments"] if e not in MNIST_EXPERIMENTS]
DATA_DIR, DATA_SOURCE = mnist_data.places(CONFIG.get("data_dir", "data"))


def shell_setup():
    """Jobs run the checkout's package: in their conda environment, or else by the driver's own Python."""
    setup = f"export PYTHONPATH={shlex.quote(f'{workflow.basedir}/src')}; "
    # Where MNIST lies is told by the environment, not by params: another folder must not train everything anew.
    setup += f"export {mnist_data.ENVIRONMENT}={shlex.quote(str(DATA_DIR))}; "
    setup += f"export CBO_DATA_SOURCE={shlex.quote(str(DATA_SOURCE or DATA_DIR))}; "
    methods = {str(method) for method in workflow.deployment_settings.deployment_method}
    if "conda" not in methods:
        setup += f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    return setup


shell.prefix(shell_setup())


def resolved(wildcards):
    """The settings of one run."""
    w = wildcards
    name = settings.RunName(w.experiment, w.method, int(w.M), int(w.N), int(w.seed))
    return settings.resolve(CONFIG, name)


def resolved_curve(wildcards):
    """The settings of the first run of a curve."""
    w = wildcards
    curve = (w.experiment, w.method, int(w.M), int(w.N))
    first = next(r for r in RUNS if (r.experiment, r.variant, r.M, r.N) == curve)
    return settings.resolve(CONFIG, first)


def run_settings(wildcards):
    return resolved(wildcards).json


def run_sources(wildcards):
    run = resolved(wildcards)
    return sources.of_run(run.method, run.problem)


def cost_sources(wildcards):
    run = resolved_curve(wildcards)
    return sources.files("training.cost", f"methods.{run.method}", f"problems.{run.problem}")


def megabytes(wildcards, attempt):
    """Memory of one run, and more after a failure."""
    return attempt * memory.megabytes(resolved(wildcards))


def megabytes_of_any(experiments):
    """The most that a run of these experiments needs: a Slurm array gives all its runs what the first asks for."""
    of_each_curve = {(r.experiment, r.variant, r.M, r.N): r for r in RUNS if r.experiment in experiments}
    runs = [settings.resolve(CONFIG, run) for run in of_each_curve.values()]
    most = max(map(memory.megabytes, runs), default=1000)
    return lambda wildcards, attempt: attempt * most


def mnist_minutes(wildcards):
    """Generous: an iteration of a thousand particles takes about a second on a CPU, a tenth of it on a GPU."""
    run = resolved(wildcards)
    iterations = run.settings["epochs"] * run.settings["images"] // run.settings["batch_size"]
    seconds = iterations * (0.02 + 3e-3 * run.name.N) / (10 if run.settings.get("device") == "cuda" else 1)
    return 30 + round(seconds / 60)


def one_of(names):
    """A pattern that fits these names, or nothing if there is none."""
    return "|".join(names) or "(?!)"


def runs_of_curve(wildcards):
    w = wildcards
    return [
        f"results/runs/{run}.nc"
        for run in RUNS
        if (run.experiment, run.variant, run.M, run.N) == (w.experiment, w.method, int(w.M), int(w.N))
    ]


def curve_summary(experiment, method, M, N):
    return f"results/summary/{experiment}/{method}_M{M}_N{N}.nc"


def curve_cost(experiment, method, M, N):
    return f"results/cost/{experiment}/{method}_M{M}_N{N}.json"


def curves_of_experiment(wildcards):
    return [curve_summary(*curve) for curve in CURVES if curve[0] == wildcards.experiment]


def is_needed(need, curve):
    """Whether a figure that states this need shows this curve."""
    experiment, method, M, N = curve
    if experiment != need.experiment or (need.methods is not None and method not in need.methods):
        return False
    same = [c for c in CURVES if c[:2] == (experiment, method)]
    fixed = {"M": N == max(c[3] for c in same), "N": M == max(c[2] for c in same)}
    return need.sweep is None or fixed[need.sweep]


def shown_curves(label):
    return [curve for curve in CURVES if any(is_needed(need, curve) for need in figures.FIGURES[label].needs)]


def curves_of_figure(label):
    return [curve_summary(*curve) for curve in shown_curves(label)]


def costs_of_figure(label):
    return [curve_cost(*curve) for curve in shown_curves(label)] if figures.FIGURES[label].costs else []


def can_be_drawn(figure):
    """A config without a figure's experiment does not make that figure."""
    return all(any(is_needed(need, curve) for curve in CURVES) for need in figure.needs)


FIGURES = {label: figure for label, figure in figures.FIGURES.items() if can_be_drawn(figure)}


def figure_files(label):
    return [f"results/figures/{label}.pdf", f"results/figures/{label}.png"]


def costs_of_claims():
    """Every method of every experiment once, at its largest M and N (its variants cost the same), and what figures show."""
    named = {
        (experiment, method)
        for experiment, content in CONFIG["experiments"].items()
        for method, own in content["methods"].items()
        if own is not None and "method" not in own
    }
    largest = {curve[:2]: curve for curve in sorted(CURVES) if curve[:2] in named}
    shown = [path for label in FIGURES for path in costs_of_figure(label)]
    return list(dict.fromkeys([curve_cost(*curve) for curve in largest.values()] + shown))


def caption_of(label):
    """The figure's own caption in the report, or the one for figures that have none."""
    own = Path(workflow.basedir, "workflow", "report", f"{label}.rst")
    return f"../report/{own.name if own.is_file() else 'figure.rst'}"


def everything():
    summaries = [f"results/summary/{experiment}.nc" for experiment in CONFIG["experiments"]]
    claims = [
        "results/claims.json",
        "results/claims.md",
        "results/claims.html",
        "results/speed.json",
        "results/settings.html",
    ]
    return summaries + claims + [path for label in FIGURES for path in figure_files(label)]


wildcard_constraints:
    experiment=r"[a-z][a-z0-9_]*",
    method=r"[a-z][a-z0-9_]*",
    M=r"[1-9]\d*",
    N=r"[1-9]\d*",
    seed=r"\d+",
