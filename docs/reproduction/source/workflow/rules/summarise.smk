rule summarise_curve:
    """Gather the runs of one curve: medians, quartiles and extremes over the seeds."""
    input:
        runs=lambda wildcards: PLAN.runs_of(plan.curve_of(wildcards)),
    output:
        "results/summary/{experiment}/{variant}_M{M}_N{N}.nc",
    log:
        "results/logs/summary/{experiment}/{variant}_M{M}_N{N}.log",
    benchmark:
        "results/benchmarks/summary/{experiment}/{variant}_M{M}_N{N}.tsv"
    wildcard_constraints:
        experiment=plan.one_of(PLAN.without_gpu),
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=PLAN.code_of_summary,
        seeds=PLAN.seeds_of,  # not the files: thousands of them would not fit into a command
        folder="results/runs/{experiment}/{variant}",
        sizes="M{M}_N{N}",
    message:
        "summarise {wildcards.experiment}/{wildcards.variant}, M = {wildcards.M}, N = {wildcards.N}"
    shell:
        "python -m cbo_pipeline summarise --seeds {params.seeds:q} --folder {params.folder:q} --sizes {params.sizes:q}"
        " --output {output:q} 2> {log:q}"


# What is shown of a run is computed where the run was.
use rule summarise_curve as summarise_on_gpu with:
    wildcard_constraints:
        experiment=plan.one_of(PLAN.with_gpu),
    resources:
        mem_mb=2000,
        runtime=10,
        gpu=PLAN.gpus,


rule join_curves:
    """Join the curves of one experiment into one summary."""
    input:
        curves=lambda wildcards: [plan.curve_file(c) for c in PLAN.curves_of(wildcards.experiment)],
    output:
        "results/summary/{experiment}.nc",
    log:
        "results/logs/summary/{experiment}.log",
    benchmark:
        "results/benchmarks/summary/{experiment}.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=when_needed(code.summary_digest),
    message:
        "join the curves of {wildcards.experiment}"
    shell:
        "python -m cbo_pipeline join {input.curves:q} --output {output:q} 2> {log:q}"
