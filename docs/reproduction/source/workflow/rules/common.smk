"""What the rules share: the checked config, the plan made of it, and how jobs find the package."""

import json
import shlex
import sys
import warnings

from snakemake.logging import logger

# The checkout's own package, installed or not: the driver must agree with the jobs on what a run is.
sys.path.insert(0, f"{ROOT}/src")

from cbo_pipeline import figures
from cbo_pipeline.errors import UserError
from cbo_pipeline.pages import article
from cbo_pipeline.results import code, stage_code
from cbo_pipeline.workflow import driver, plan, readings, shared_jobs
from cbo_pipeline.workflow.plan import when_needed

ENV = f"{ROOT}/envs/cbo.yaml"

# Refused with one line that names the key, before any job starts.
try:
    driver.refuse_lost_configfiles(sys.argv)
    with warnings.catch_warnings(record=True) as CAUGHT:
        warnings.simplefilter("always")
        PLAN = driver.plan_of(workflow.overwrite_configfiles, workflow.config_settings.config)
    shell.prefix(driver.shell_setup(PLAN, ROOT, workflow.deployment_settings.deployment_method))
except UserError as error:
    raise SystemExit(f"cbo-pipeline: {error}") from None
for warning in CAUGHT:
    logger.warning(str(warning.message))
READINGS = readings.Readings(workflow.overwrite_configfiles, PLAN.adopted)
FOUND = readings.found()


wildcard_constraints:
    experiment=plan.one_of(PLAN.experiments),
    variant=r"[a-z][a-z0-9_]*",
    M=r"[1-9]\d*",
    N=r"[1-9]\d*",
    seed=r"\d+",
