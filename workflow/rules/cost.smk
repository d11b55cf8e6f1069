rule measure_cost:
    """Measure a curve on a few iterations: bytes of its state, growth of memory, seconds an iteration."""
    input:
        code=cost_sources,
        data=lambda wildcards: "results/data/mnist.md5" if wildcards.experiment in MNIST_EXPERIMENTS else [],
    output:
        "results/cost/{experiment}/{method}_M{M}_N{N}.json",
    log:
        "results/logs/cost/{experiment}/{method}_M{M}_N{N}.log",
    benchmark:
        "results/benchmarks/cost/{experiment}/{method}_M{M}_N{N}.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=lambda wildcards: memory.megabytes(resolved_curve(wildcards)),
        runtime=10,
    params:
        settings=lambda wildcards: resolved_curve(wildcards).json,
    message:
        "measure the cost of {wildcards.experiment}/{wildcards.method}, M = {wildcards.M}, N = {wildcards.N}"
    shell:
        "python -m cbo_pipeline cost --settings {params.settings:q} --output {output:q} 2> {log:q}"
