rule summarise_curve:
    """Gather the runs of one method at one M and N: medians, quartiles, extremes over the seeds."""
    input:
        runs=runs_of_curve,
        code=sources.files("results.summaries"),
    output:
        "results/summary/{experiment}/{method}_M{M}_N{N}.nc",
    log:
        "results/logs/summary/{experiment}/{method}_M{M}_N{N}.log",
    benchmark:
        "results/benchmarks/summary/{experiment}/{method}_M{M}_N{N}.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    message:
        "summarise {wildcards.experiment}/{wildcards.method}, M = {wildcards.M}, N = {wildcards.N}"
    shell:
        "python -m cbo_pipeline summarise {input.runs:q} --output {output:q} 2> {log:q}"


rule join_curves:
    """Join all curves of one experiment into one summary."""
    input:
        curves=curves_of_experiment,
        code=sources.files("results.summaries"),
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
    message:
        "join the curves of {wildcards.experiment}"
    shell:
        "python -m cbo_pipeline join {input.curves:q} --output {output:q} 2> {log:q}"
