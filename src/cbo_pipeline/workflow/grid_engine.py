"""What the driver makes sure of before the first job goes to Grid Engine through the cluster-generic executor.

That executor (as of 1.0.9; no issue is known) hands the path of the job's script to a shell between double quotes, in
which ``$`` and backticks are still read, and the path of the status script without any quotes;
``tests/workflow/test_upstream.py`` tells when that has changed. And Grid Engine puts a job into an error state whose
folder for messages does not exist.
"""

import shlex
from pathlib import Path

from cbo_pipeline.workflow import cluster

PLUGIN = "snakemake_executor_plugin_cluster_generic"
MESSAGES = Path(".snakemake", "grid_engine")  # as the profile names it


def prepare(workflow) -> None:
    """Quote what needs quotes, make the folder, refuse what cannot work. ``workflow`` is Snakemake's object."""
    settings = workflow.executor_settings
    if workflow.local_exec or type(settings).__module__.split(".")[0] != PLUGIN:
        return
    for what, path in (("the checkout", workflow.basedir), ("the working directory", Path.cwd())):
        cluster.refuse_path(what, str(path), "Grid Engine")
    if settings.status_cmd and Path(settings.status_cmd).is_file():
        settings.status_cmd = shlex.quote(str(Path(settings.status_cmd).absolute()))
    MESSAGES.mkdir(parents=True, exist_ok=True)
    cluster.end_on_sigterm()
