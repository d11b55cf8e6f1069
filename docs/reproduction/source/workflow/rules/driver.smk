"""What the driver does beside planning: it looks at what was asked for, at what faults have left, and at the cluster.

Included last, when all rules are known. The functions and their reasons are in cbo_pipeline.workflow.
"""

from cbo_pipeline.workflow import driver_lock, grid_engine, left_over, progress, slurm

if workflow.is_main_process:
    ASKED = driver.Asked.of(sys.argv[1:])
    try:
        driver.refuse_unknown_targets(PLAN, ASKED, workflow.rules)
        driver.refuse_changed_readings(ASKED, workflow.config_settings.config)
        for told in driver.other_settings(PLAN):
            logger.warning(told)
    except UserError as error:
        raise SystemExit(f"cbo-pipeline: {error}") from None
    if ASKED.makes:
        driver_lock.enter(logger.warning)
        driver_lock.clear_dead_lock(logger.warning, slurm.cancel_jobs)
        if not driver_lock.is_locked():
            left_over.clear(PLAN, logger.warning)


onstart:
    driver_lock.leave()
    if workflow.is_main_process:
        try:
            driver.drop_rate_limit(workflow)
            driver.keep_whole_runs(PLAN, workflow)
            slurm.prepare(workflow, logger.warning)
            grid_engine.prepare(workflow)
            progress.follow(workflow, logger)
        except UserError as error:
            raise SystemExit(f"cbo-pipeline: {error}") from None


onsuccess:
    if workflow.is_main_process:
        if ASKED.makes:
            driver_lock.enter(logger.warning)
        left_over.clear(PLAN, logger.warning)


onerror:
    if workflow.is_main_process and ASKED.makes:
        driver_lock.enter(logger.warning)
