"""What is to be run: names of runs and curves, files laid over each other, checks and their messages, memory.

The config becomes frozen runs here; nothing later asks it again.
"""

from cbo_pipeline.config.check import check_config
from cbo_pipeline.config.loading import load_config
from cbo_pipeline.config.names import Curve, RunName
from cbo_pipeline.config.resolving import chosen_run, curves, resolve, runs, runs_of_variant
from cbo_pipeline.config.run import Run

__all__ = [
    "Curve",
    "Run",
    "RunName",
    "check_config",
    "chosen_run",
    "curves",
    "load_config",
    "resolve",
    "runs",
    "runs_of_variant",
]
