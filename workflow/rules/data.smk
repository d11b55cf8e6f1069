LONGEST_FIRST = 1  # one run of MNIST takes as long as fifty others: begun last, it would keep all waiting


rule fetch_mnist:
    """Get the files of MNIST, or check those that are there."""

    # Its output is the list of what it checked. The files themselves may be somebody's: Snakemake deletes outputs
    # before it makes them anew. And when they move to another folder the list stays, so nothing is trained again.
    output:
        "results/data/mnist.md5",
    log:
        "results/logs/data/mnist.log",
    benchmark:
        "results/benchmarks/data/mnist.tsv"
    priority: LONGEST_FIRST
    localrule: True  # the nodes of a cluster often reach no network
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    message:
        "get MNIST"
    shell:
        'python -m cbo_pipeline fetch-mnist --data-dir "$CBO_DATA_DIR" --from "$CBO_DATA_SOURCE"'
        " --output {output:q} 2> {log:q}"


use rule train as train_mnist with:
    input:
        code=run_sources,
        data="results/data/mnist.md5",
    wildcard_constraints:
        experiment=one_of(MNIST_EXPERIMENTS),
    priority: LONGEST_FIRST
    resources:
        mem_mb=megabytes,
        runtime=mnist_minutes,
        gpu=lambda wildcards: int(resolved(wildcards).settings.get("device") == "cuda"),
