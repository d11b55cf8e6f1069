rule fetch_mnist:
    """Get the files of MNIST, or check those that are there, and write what training reads."""

    # Its output is the list of what it checked. The files may be somebody else's: Snakemake deletes outputs before
    # it makes them again. And when they move to another folder the list stays, so nothing is trained again.
    output:
        plan.MNIST_FILE,
    log:
        "results/logs/data/mnist.log",
    benchmark:
        "results/benchmarks/data/mnist.tsv"
    priority: 1
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
