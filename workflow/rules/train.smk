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
        experiment=plan.one_of(PLAN.without_mnist),
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=PLAN.most_megabytes(PLAN.without_mnist),
        runtime=60,
    params:
        settings=lambda wildcards: PLAN.run(wildcards).json,
        code=PLAN.code_of_run,
        checkpoint="results/checkpoints/{experiment}/{variant}/M{M}_N{N}_seed{seed}.npz",
    message:
        "train {wildcards.experiment}/{wildcards.variant}, M = {wildcards.M}, N = {wildcards.N}, seed {wildcards.seed}"
    shell:
        "python -m cbo_pipeline train --settings {params.settings:q} --checkpoint {params.checkpoint:q}"
        " --output {output:q} 2> {log:q}"


# One run of MNIST takes as long as fifty others: begun last, it would keep all waiting.
use rule train as train_mnist with:
    wildcard_constraints:
        experiment=plan.one_of(PLAN.with_mnist),
    priority: 1
    resources:
        mem_mb=lambda wildcards, attempt: attempt * PLAN.megabytes(plan.curve_of(wildcards)),
        runtime=PLAN.mnist_minutes,
        gpu=PLAN.gpus,
