"""Keep Snakemake's scheduler from looking at all waiting jobs over and over."""


# By default Snakemake starts at most 100 jobs a second. For this it looks at all waiting jobs again one second after
# it last did, for whatever reason: so every job that ends adds one more look a second, for good, and after some hundred
# jobs the driver keeps a core busy. Ours are no more than a few a second. A limit that the user sets is kept.
onstart:
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None
