RECORDS = shared_jobs.Records(lambda wildcards: PLAN, workflow)
MEGABYTES = PLAN.most_megabytes(PLAN.without_mnist)  # found out once, however many jobs there are


rule train:
    """Train one ensemble: an experiment, a variant, a width, a number of particles, a seed."""
    input:
        data=PLAN.data_of,
    output:
        "results/runs/{experiment}/{variant}/M{M}_N{N}_seed{seed}.nc",
    log:
        "results/logs/{experiment}/{variant}/M{M}_N{N}_seed{seed}.log",
    benchmark:
        "results/benchmarks/{experiment}/{variant}/M{M}_N{N}_seed{seed}.tsv"
    wildcard_constraints:
        experiment=plan.one_of(e for e in PLAN.without_mnist if e not in PLAN.with_gpu),
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=MEGABYTES,
        runtime=60,
    params:
        settings=RECORDS.settings,
        code=PLAN.code_of_run,
        checkpoint=RECORDS.checkpoint,
    message:
        "train {wildcards.experiment}/{wildcards.variant}, M = {wildcards.M}, N = {wildcards.N}, seed {wildcards.seed}"
    shell:
        "python -m cbo_pipeline train --settings {params.settings:q} --checkpoint {params.checkpoint:q}"
        " --output {output:q} 2> {log:q}"


# Apart, since a Slurm array of the others may not get a GPU.
use rule train as train_on_gpu with:
    wildcard_constraints:
        experiment=plan.one_of(e for e in PLAN.without_mnist if e in PLAN.with_gpu),
    resources:
        mem_mb=MEGABYTES,
        runtime=60,
        gpu=PLAN.gpus,


# One run of MNIST takes as long as fifty others: started last, it would keep everything waiting.
use rule train as train_mnist with:
    wildcard_constraints:
        experiment=plan.one_of(PLAN.with_mnist),
    priority: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempt * PLAN.megabytes(plan.curve_of(wildcards)),
        runtime=PLAN.mnist_minutes,
        gpu=PLAN.gpus,


# Several short runs in one process, where the config asks for it (runs_per_job). A rule without wildcards goes before
# the rules train and train_reading, which make all other runs. Its command is theirs, word for word: Snakemake
# compares them.
try:
    SHARED_JOBS = driver.shared_jobs_of(PLAN, READINGS, workflow)
except UserError as error:
    raise SystemExit(f"cbo-pipeline: {error}") from None
for job in SHARED_JOBS:

    rule:
        """Train several seeds of one curve in one process."""
        name:
            job.name
        output:
            job.outputs,
        log:
            f"results/logs/{job.stem}.log",
        benchmark:
            f"results/benchmarks/{job.stem}.tsv"
        conda:
            ENV
        threads: 1
        resources:
            mem_mb=job.megabytes,
            runtime=job.minutes,
            gpu=job.gpus,
        params:
            curve=job.remembered,
            code=job.code,
            settings=job.settings,
            checkpoint=job.checkpoint,
        message:
            job.told
        shell:
            "python -m cbo_pipeline train --settings {params.settings:q} --checkpoint {params.checkpoint:q}"
            " --output {output:q} 2> {log:q}"
