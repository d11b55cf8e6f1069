"""What the driver does beside planning: it looks at what was asked for, at a lock that was left, and at the cluster.

Included last, when all rules are known. The functions and their reasons are in cbo_pipeline.workflow.
"""

from cbo_pipeline.workflow import driver_lock, grid_engine, progress, slurm

if workflow.is_main_process:
    try:
        driver.refuse_unknown_targets(PLAN, driver.Asked.of(sys.argv[1:]), workflow.rules)
        for told in driver.other_settings(PLAN):
            logger.warning(told)
    except UserError as error:
        raise SystemExit(f"cbo-pipeline: {error}") from None
    driver_lock.clear_dead_lock(logger.warning)


onstart:
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
        shared_jobs.clear_whole_runs()
