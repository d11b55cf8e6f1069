"""What the driver, the Snakemake that plans and submits, does before and after the rules are read."""

import contextlib
import io
import os
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cbo_pipeline import plugins
from cbo_pipeline.config import check_config, loading
from cbo_pipeline.errors import ConfigError, UserError
from cbo_pipeline.problems._mnist_arrays import ENVIRONMENT
from cbo_pipeline.results import kinds, ledger
from cbo_pipeline.workflow import shared_jobs
from cbo_pipeline.workflow.fetch_mnist import places
from cbo_pipeline.workflow.plan import Plan, run_file
from cbo_pipeline.workflow.readings import Readings, asked_for

# Options of Snakemake with which it makes nothing, or with which the user wants no lock.
LOOKING = (
    "dryrun", "touch", "nolock", "unlock", "lint", "list_rules", "list_target_rules", "print_compilation",
    "containerize", "report", "generate_unit_tests", "dag", "rulegraph", "filegraph", "d3dag", "cleanup_metadata",
    "cleanup_shadow", "conda_cleanup_envs", "conda_create_envs_only", "list_conda_envs", "container_cleanup_images",
    "list_changes", "list_input_changes", "list_params_changes", "list_untracked", "summary", "detailed_summary",
    "archive", "delete_all_output", "delete_temp_output",
)  # fmt: skip
HOW_IT_IS_RUN = frozenset({"runs_per_job", "data_dir"})  # keys of the config that decide no number
SHOWN = 4  # curves that a warning names


def refuse_lost_configfiles(arguments: Iterable[str]) -> None:
    """Refuse a second --configfile among the arguments of Snakemake, which would take the last and drop the first.

    >>> refuse_lost_configfiles(["snakemake", "--configfile", "a.yaml", "b.yaml"])
    """
    named = [text for text in arguments if text.partition("=")[0].startswith("--configf")]
    if len(named) > 1:
        words = "--configfile: given twice, and Snakemake would take the last alone; write --configfile FIRST SECOND"
        raise ConfigError(words, code="twice", key="--configfile")


def plan_of(overlays: Iterable[str | Path], changes: dict) -> Plan:
    """The plan of config.yaml with these files and changes laid over it; a mistake is an error that names the key."""
    config = loading.config_of_workflow(overlays, changes)
    check_config(config)
    runs_per_job = config.pop("runs_per_job", 1)  # how it is run is not what is run: nothing is made anew for it
    return Plan(config, ledger.read("results"), runs_per_job)


def shell_setup(plan: Plan, root: str | Path, deployment: Iterable) -> str:
    """What precedes the command of every job: the checkout's package, the data folder, the driver's own Python."""
    folder, source = places(plan.config.get("data_dir", "data"))
    settings = {
        "PYTHONPATH": Path(root, "src"),
        # Where MNIST is kept comes from the environment, not from params: another folder must not retrain everything.
        ENVIRONMENT: folder,
        "CBO_DATA_SOURCE": source or folder,
        plugins.ENVIRONMENT: os.pathsep.join(map(str, plugins.folders())),
    }
    setup = "".join(f"export {name}={shlex.quote(str(value))}; " for name, value in settings.items())
    if "conda" not in {str(method) for method in deployment}:
        setup += f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    # Snakemake tells the threads of a job in this variable. They are not in the command: with more of them nothing
    # is to be trained anew.
    return f"{setup}export CBO_THREADS=$OMP_NUM_THREADS; "


def shared_jobs_of(plan: Plan, others: Readings, workflow) -> list[shared_jobs.SharedJob]:
    """The jobs of several runs: of the runs that are missing, or, in a job of a cluster, that very job.

    The other readings of the paper, which take seconds to plan, are among them where the command line asks for them.
    """
    if not workflow.is_main_process:
        named = any(word.startswith(f"train_{shared_jobs.READING}") for word in sys.argv)
        return shared_jobs.jobs_of_names([plan, *(others.parts.values() if named else ())], sys.argv)
    if plan.runs_per_job == 1:
        return []
    wanted = Asked.of(sys.argv[1:]).readings
    return shared_jobs.jobs([plan, *(others.parts.values() if wanted else ())], plan.runs_per_job)


def caption_of(label: str, root: str | Path) -> str:
    """The figure's own caption in the report, or the one for figures that have none; relative to the rules."""
    own = Path(root, "workflow", "report", f"{label}.rst")
    return f"../report/{own.name if own.is_file() else 'figure.rst'}"


# --- What was asked for ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """What the command line of Snakemake asks for: targets, names after its options, and whether to make them."""

    targets: frozenset[str] = frozenset()
    forced: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()
    makes: bool = True

    @property
    def readings(self) -> bool:
        """Whether other readings of the paper are among it."""
        return asked_for([*self.targets, *self.forced, *self.others])

    @classmethod
    def of(cls, arguments: Sequence[str]) -> "Asked":
        """By Snakemake's own parser (as of 9.27): the rules are read before it tells what it was asked for."""
        from snakemake.cli import get_argument_parser

        with contextlib.redirect_stderr(io.StringIO()):
            try:
                found, _ = get_argument_parser().parse_known_args(list(arguments))
            except SystemExit:  # not a command line of Snakemake: it is used from Python
                return cls()
        names = (found.targets, found.forcerun, {*(found.until or ()), *(found.omit_from or ())})
        makes = not any(getattr(found, option, None) for option in LOOKING)
        return cls(*(frozenset(map(str, part or ())) for part in names), makes)


def refuse_changed_readings(asked: Asked, changes: Iterable[str]) -> None:
    """Refuse readings of a config that was changed on the command line: they are planned, and judged, by files.

    ``changes`` are the keys that Snakemake's ``--config`` gives.
    """
    deciding = sorted(set(changes) - HOW_IT_IS_RUN)
    if asked.readings and deciding:
        words = (
            f"--config {deciding[0]}: the readings would be made without it; write it into a file and give that with"
            " --configfile"
        )
        raise ConfigError(words, code="not-for-readings", key=deciding[0])


def refuse_unknown_targets(plan: Plan, asked: Asked, rules: Iterable) -> None:
    """Refuse what nothing makes, with the nearest name. ``rules`` are Snakemake's.

    A file that is there already is left to Snakemake.
    """
    rules = list(rules)
    names = {str(rule.name) for rule in rules}
    made = {str(path) for rule in rules for path in rule.output if "{" not in str(path)}
    for target in sorted(asked.targets | asked.forced | asked.others):
        path = target if target in names or Path(target).is_absolute() else os.path.normpath(target)
        complaint = None if Path(path).exists() else plan.complaint(path, names | made)
        if complaint:
            raise UserError(complaint, code="unknown-target", key=target)
    for label in sorted(asked.forced & set(plan.figures)):
        number = plan.figures[label].number
        if number:
            words = f"--forcerun {label}: the rule that draws it is {number}; write --forcerun {number}"
            raise UserError(words, code="other-name", key=label)


def other_settings(plan: Plan, folder: str | Path = ".") -> list[str]:
    """A warning if runs in the folder have the names of the plan's runs and other settings: they would be replaced.

    One run of each curve is looked at.
    """
    curves, runs = [], 0
    for curve in plan.curves:
        there = [name for name in plan.names_of(curve) if Path(folder, run_file(name)).is_file()]
        if not there:
            continue
        with contextlib.suppress(OSError):
            found = kinds.kind_of(Path(folder, run_file(there[0])))
            wanted = plan.curve_run(curve).with_seed(there[0].seed).json
            if found is not None and found.settings not in ("", wanted):
                curves.append(str(curve))
                runs += len(there)
    if not curves:
        return []
    named = ", ".join(curves[:SHOWN]) + (f" and {len(curves) - SHOWN} more" if len(curves) > SHOWN else "")
    return [
        f"results/runs holds {runs} runs of the same names with other settings ({named}). They are replaced when they"
        " are made; to keep both, give --directory another folder."
    ]


def keep_whole_runs(plan: Plan, workflow) -> None:
    """Where runs share a job, let those that are whole keep their files if another one fails.

    Snakemake deletes all outputs of a job that failed, as they may be cut short; ours are whole or not there at all.
    """
    if plan.runs_per_job > 1:
        workflow.execution_settings.keep_incomplete = True


# --- Snakemake's scheduler ---------------------------------------------------------------------------------------


def drop_rate_limit(workflow) -> None:
    """Keep Snakemake's scheduler from looking at all waiting jobs over and over.

    By default Snakemake starts at most 100 jobs per second. For this it looks at all waiting jobs again one second
    after it last did, for whatever reason: so every job that ends adds one more look per second, for good, and after
    a few hundred jobs the driver keeps a core busy (https://github.com/snakemake/snakemake/pull/3744; no option turns
    the limit off as of 9.27). Ours are no more than a few per second. A limit that the user sets is kept.
    ``tests/workflow/test_driver.py`` tells when Snakemake no longer needs this.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
