"""The same command goes on after a Snakemake was killed: see cbo_pipeline.workflow.driver_lock."""

from cbo_pipeline.workflow import driver_lock

if workflow.is_main_process:
    try:
        driver_lock.clear_dead_lock(logger.warning)
    except OSError as error:
        logger.warning(f"No note of this Snakemake: {error}")
