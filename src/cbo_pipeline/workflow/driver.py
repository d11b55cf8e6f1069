"""What the driver, the Snakemake that plans and submits, does before and after the rules are read."""

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from cbo_pipeline import plugins
from cbo_pipeline.config import check_config, loading
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.problems._mnist_arrays import ENVIRONMENT
from cbo_pipeline.results import ledger
from cbo_pipeline.workflow.fetch_mnist import places
from cbo_pipeline.workflow.plan import Plan


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
    return Plan(config, ledger.read("results"))


def shell_setup(plan: Plan, root: str | Path, deployment: Iterable) -> str:
    """What precedes the command of every job: the checkout's package, the data folder, the driver's own Python."""
    folder, source = places(plan.config.get("data_dir", "data"))
    settings = {
        "PYTHONPATH": Path(root, "src"),
        # Where MNIST lies is told by the environment, not by params: another folder must not train everything anew.
        ENVIRONMENT: folder,
        "CBO_DATA_SOURCE": source or folder,
        plugins.ENVIRONMENT: os.pathsep.join(map(str, plugins.folders())),
    }
    setup = "".join(f"export {name}={shlex.quote(str(value))}; " for name, value in settings.items())
    if "conda" not in {str(method) for method in deployment}:
        setup += f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH; "
    return setup


def caption_of(label: str, root: str | Path) -> str:
    """The figure's own caption in the report, or the one for figures that have none; relative to the rules."""
    own = Path(root, "workflow", "report", f"{label}.rst")
    return f"../report/{own.name if own.is_file() else 'figure.rst'}"
