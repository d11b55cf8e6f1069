rule measure_cost:
    """Measure a curve on a few iterations: bytes of its state, growth of memory, seconds per iteration."""
    input:
        data=PLAN.data_of,
    output:
        "results/cost/{experiment}/{variant}_M{M}_N{N}.json",
    log:
        "results/logs/cost/{experiment}/{variant}_M{M}_N{N}.log",
    benchmark:
        "results/benchmarks/cost/{experiment}/{variant}_M{M}_N{N}.tsv"
    wildcard_constraints:
        experiment=plan.one_of(PLAN.without_gpu),
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=lambda wildcards: PLAN.megabytes(plan.curve_of(wildcards)),
        runtime=10,
    params:
        settings=lambda wildcards: PLAN.curve_run(plan.curve_of(wildcards)).json,
        code=PLAN.code_of_cost,
    message:
        "measure the cost of {wildcards.experiment}/{wildcards.variant}, M = {wildcards.M}, N = {wildcards.N}"
    shell:
        "python -m cbo_pipeline cost --settings {params.settings:q} --output {output:q} 2> {log:q}"


use rule measure_cost as measure_cost_on_gpu with:
    wildcard_constraints:
        experiment=plan.one_of(PLAN.with_gpu),
    resources:
        mem_mb=lambda wildcards: PLAN.megabytes(plan.curve_of(wildcards)),
        runtime=10,
        gpu=PLAN.gpus,
