rule train:
    """Train one ensemble: an experiment, a method, a width, a number of particles, a seed."""
    input:
        code=run_sources,
    output:
        "results/runs/{experiment}/{method}/M{M}_N{N}_seed{seed}.nc",
    log:
        "results/logs/{experiment}/{method}/M{M}_N{N}_seed{seed}.log",
    benchmark:
        "results/benchmarks/{experiment}/{method}/M{M}_N{N}_seed{seed}.tsv"
    wildcard_constraints:
        experiment=one_of(OTHER_EXPERIMENTS),
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=megabytes_of_any(OTHER_EXPERIMENTS),
        runtime=60,
    params:
        settings=run_settings,
        checkpoint="results/checkpoints/{experiment}/{method}/M{M}_N{N}_seed{seed}.npz",
    message:
        "train {wildcards.experiment}/{wildcards.method}, M = {wildcards.M}, N = {wildcards.N}, seed {wildcards.seed}"
    shell:
        "python -m cbo_pipeline train --settings {params.settings:q} --checkpoint {params.checkpoint:q}"
        " --output {output:q} 2> {log:q}"
