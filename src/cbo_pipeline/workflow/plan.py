"""The plan of the workflow: which files are made, from which, with which settings, memory and time.

The rules in ``workflow/rules`` ask a ``Plan``. It knows nothing of Snakemake: wildcards are any object with the
attributes ``experiment``, ``variant``, ``M``, ``N`` and ``seed``.
"""

import difflib
import functools
from collections.abc import Callable, Iterable
from typing import Any

from cbo_pipeline import figures
from cbo_pipeline.config import Curve, Run, RunName, memory, resolve, runs
from cbo_pipeline.config.file_keys import file_keys
from cbo_pipeline.config.names import short_list
from cbo_pipeline.figures import Figure, Need
from cbo_pipeline.results import checks, code, ledger

MNIST_FILE = "results/data/mnist.md5"
PAGES = (
    "results/index.html",
    "results/claims.json",
    "results/claims.md",
    "results/claims.html",
    "results/speed.json",
    "results/settings.html",
)


def run_file(name: RunName) -> str:
    return f"results/runs/{name}.nc"


def summary_file(experiment: str) -> str:
    return f"results/summary/{experiment}.nc"


def curve_file(curve: Curve) -> str:
    return f"results/summary/{curve}.nc"


def cost_file(curve: Curve) -> str:
    return f"results/cost/{curve}.json"


def check_file(name: str) -> str:
    return f"results/checks/{name}.json"


CHECKS = (check_file("barycentres"), check_file("rule_errors"))  # by which claims are judged


def figure_files(label: str) -> list[str]:
    return [f"results/figures/{label}.pdf", f"results/figures/{label}.png"]


def one_of(names: Iterable[str]) -> str:
    """A pattern that fits these names, or nothing if there is none.

    >>> one_of(["sine", "square"]), one_of([])
    ('sine|square', '(?!)')
    """
    return "|".join(names) or "(?!)"


def when_needed(function: Callable[..., str], *arguments: str) -> Callable[[Any], str]:
    """A parameter of a rule that is worked out for the rule's own jobs, and not at every start of Snakemake.

    >>> when_needed(str.upper, "x")({"seed": "0"})
    'X'
    """
    return lambda wildcards: function(*arguments)


class Plan:
    """Everything that a checked config asks for. ``adopted`` is the ledger of the folder of results."""

    reading = ""  # none: the config as it is

    def __init__(self, config: dict[str, Any], adopted: ledger.Ledger = (), runs_per_job: int = 1):
        self.config = config
        self.runs_per_job = runs_per_job
        self.adopted = adopted
        self.runs = tuple(runs(config))
        self.curves = tuple(dict.fromkeys(name.curve for name in self.runs))
        self.experiments = tuple(config["experiments"])
        own = [figures.overview_of(e) for e in self.experiments if not figures.has_own(e)]
        self.figures = {f.label: f for f in (*figures.FIGURES.values(), *own) if self.can_draw(f)}

    @functools.cached_property
    def _runs_of_curve(self) -> dict[Curve, list[RunName]]:
        found: dict[Curve, list[RunName]] = {}
        for name in self.runs:
            found.setdefault(name.curve, []).append(name)
        return found

    # --- Runs ---------------------------------------------------------------------------------------------------

    def run(self, wildcards) -> Run:
        """The run of these wildcards with all its settings."""
        return resolve(self.config, curve_of(wildcards).run(int(wildcards.seed)))

    def run_of_name(self, name: RunName) -> Run:
        """The same by its name."""
        return self.curve_run(name.curve).with_seed(name.seed)

    def curve_run(self, curve: Curve) -> Run:
        """The first run of a curve, which stands for all of them except for the seed."""
        return self._first_runs(curve)

    @functools.cache  # noqa: B019 one plan lives as long as the process
    def _first_runs(self, curve: Curve) -> Run:
        return resolve(self.config, self._runs_of_curve[curve][0])

    def names_of(self, curve: Curve) -> list[RunName]:
        """The runs of a curve, by their names."""
        return self._runs_of_curve.get(curve, [])

    def runs_of(self, curve: Curve) -> list[str]:
        """The files of a curve's runs."""
        return [run_file(name) for name in self.names_of(curve)]

    def seeds_of(self, wildcards) -> str:
        """The seeds of a curve, as a short list."""
        return short_list(name.seed for name in self._runs_of_curve[curve_of(wildcards)])

    def code_of_run(self, wildcards) -> str:
        """The digest of the code that decides a run, or of older code that was shown to give the same numbers."""
        curve = curve_of(wildcards)
        run = self.curve_run(curve)
        return ledger.effective_digest(str(curve), code.run_digest(run.method, run.problem), self.adopted)

    def code_of_cost(self, wildcards) -> str:
        """The digest of the code whose cost is measured."""
        run = self.curve_run(curve_of(wildcards))
        return code.cost_digest(run.method, run.problem)

    def code_of_summary(self, wildcards) -> str:
        """The digest of the code that summarises a curve; what its problem shows of a run counts too."""
        run = self.curve_run(curve_of(wildcards))
        return code.summary_digest(run.problem)

    def data_of(self, wildcards) -> list[str]:
        """The files of data that a run reads."""
        run = self.curve_run(curve_of(wildcards))
        named = [run.settings[key] for key in file_keys(run.settings)]
        return [MNIST_FILE, *named] if run.problem == "mnist" else named

    # --- Experiments --------------------------------------------------------------------------------------------

    @functools.cached_property
    def with_mnist(self) -> list[str]:
        """The experiments on MNIST, whose runs are long."""
        return [e for e in self.experiments if self.curve_run(self.curves_of(e)[0]).problem == "mnist"]

    @functools.cached_property
    def without_mnist(self) -> list[str]:
        return [e for e in self.experiments if e not in self.with_mnist]

    @property
    def short_curves(self) -> list[Curve]:
        """The curves whose runs are short."""
        chosen = set(self.without_mnist)
        return [curve for curve in self.curves if curve.experiment in chosen]

    def curves_of(self, experiment: str) -> list[Curve]:
        return [curve for curve in self.curves if curve.experiment == experiment]

    # --- What jobs ask for ---------------------------------------------------------------------------------------

    def megabytes(self, curve: Curve) -> int:
        """Memory of one run of a curve."""
        return memory.megabytes(self.curve_run(curve))

    def most_megabytes(self, experiments: Iterable[str]) -> Callable[[Any, int], int]:
        """The most that a run of these experiments needs: a Slurm array gives all its runs what the first asks for.

        A job that failed asks for more the next time.
        """
        chosen = set(experiments)
        most = max((self.megabytes(curve) for curve in self.curves if curve.experiment in chosen), default=1000)
        return lambda wildcards, attempt: attempt * most

    def mnist_minutes(self, wildcards) -> int:
        return iteration_minutes(self.run(wildcards))

    def gpus(self, wildcards) -> int:
        """How many GPUs a job of a curve needs, be it one that trains, measures or summarises."""
        return gpus_of(self.curve_run(curve_of(wildcards)))

    @functools.cached_property
    def with_gpu(self) -> list[str]:
        """The experiments with a curve on a GPU. A Slurm array would give all its jobs what the first asks for."""
        return list(dict.fromkeys(c.experiment for c in self.curves if gpus_of(self.curve_run(c))))

    @functools.cached_property
    def without_gpu(self) -> list[str]:
        return [e for e in self.experiments if e not in self.with_gpu]

    # --- Figures ------------------------------------------------------------------------------------------------

    def shown_curves(self, figure: Figure) -> list[Curve]:
        return figures.shown_curves(figure, self.curves)

    def can_draw(self, figure: Figure) -> bool:
        """A config without an experiment or a variant that a figure shows does not make that figure."""
        return all(self._has(need) for need in figure.needs)

    def _has(self, need: Need) -> bool:
        variants = {curve.variant for curve in self.curves if figures.shows(need, curve, self.curves)}
        return bool(variants) and variants >= set(need.variants or ())

    def summaries_of_figure(self, label: str) -> list[str]:
        return [curve_file(curve) for curve in self.shown_curves(self.figures[label])]

    def costs_of_figure(self, label: str) -> list[str]:
        figure = self.figures[label]
        return [cost_file(curve) for curve in self.shown_curves(figure)] if figure.costs else []

    def checks_of_figure(self, label: str) -> list[str]:
        """Those that can be made: a check that reads runs needs them in the config."""
        names = self.figures[label].checks
        return [check_file(name) for name in names if name not in checks.OF_RUNS or self.runs_of_check(name)]

    def runs_of_check(self, name: str) -> list[str]:
        """The files of the runs that a check reads."""
        return [run_file(run) for run in self.runs if run.experiment == checks.OF_RUNS.get(name)]

    # --- Claims and all -----------------------------------------------------------------------------------------

    def costs_of_claims(self) -> list[str]:
        """Every method of every experiment once, at its largest M and N, and what figures show.

        Variants of a method cost the same, so only the variant that bears the method's own name is measured.
        """
        named = [curve for curve in self.curves if self.curve_run(curve).method == curve.variant]
        largest = {(curve.experiment, curve.variant): cost_file(curve) for curve in sorted(named)}
        shown = [path for label in self.figures for path in self.costs_of_figure(label)]
        return list(dict.fromkeys([*largest.values(), *shown]))

    def summaries(self) -> list[str]:
        return [summary_file(experiment) for experiment in self.experiments]

    def everything(self) -> list[str]:
        """All that is promised: what was deleted is made again, even a run."""
        drawn = [path for label in self.figures for path in figure_files(label)]
        drawn += ["results/figures/gathering.gif"] if "gathering" in self.experiments else []
        trained = [run_file(name) for name in self.runs]
        return [*trained, *map(curve_file, self.curves), *self.summaries(), *PAGES, *drawn, *self.explained()]

    def explained(self) -> list[str]:
        """The numerical checks that explain what was found; verdicts do not need them."""
        of = {"unseen": "mnist", **checks.OF_RUNS}
        return [check_file(name) for name, experiment in of.items() if experiment in self.experiments]

    # --- Targets ------------------------------------------------------------------------------------------------

    def complaint(self, target: str, others: Iterable[str] = ()) -> str | None:
        """One line about a target that nothing makes, with the nearest name; nothing if the target is fine.

        ``target`` is a path or the name of a rule, ``others`` are names of rules and files that are made besides.
        """
        known = {*self.everything(), *self.costs_of_claims(), *map(cost_file, self.curves), MNIST_FILE, *others}
        if target in known or target.startswith("results/readings/"):  # the readings' own plan knows those
            return None
        like = sorted(name for name in known if ("/" in name) == ("/" in target))
        near = difflib.get_close_matches(target, like, n=1)
        advice = f"did you mean {near[0]}?" if near else "`snakemake --list` names the targets"
        return f"{target}: nothing in the config makes this; {advice}"


def iteration_minutes(run: Run) -> int:
    """Minutes that a run of MNIST asks for, generous: a thousand particles take under a second on a CPU."""
    iterations = run.settings["epochs"] * run.settings["images"] // run.settings["batch_size"]
    seconds = iterations * (0.02 + 2e-3 * run.name.N) / (10 if run.settings["device"] == "cuda" else 1)
    return 30 + round(seconds / 60)


def gpus_of(run: Run) -> int:
    return int(run.settings.get("device") == "cuda")


def curve_of(wildcards) -> Curve:
    """The curve that wildcards name."""
    return Curve(wildcards.experiment, wildcards.variant, int(wildcards.M), int(wildcards.N))
