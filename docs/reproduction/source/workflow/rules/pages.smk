rule draw_animation:
    """Draw the animation of the ensemble that gathers around the sine."""
    input:
        plan.summary_file("gathering"),
    output:
        "results/figures/gathering.gif",
    log:
        "results/logs/figures/gathering_film.log",
    benchmark:
        "results/benchmarks/figures/gathering_film.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=when_needed(code.stage_digest, "figures.animation"),
    message:
        "draw the animation"
    shell:
        "python -m cbo_pipeline animate {input:q} --output {output:q} 2> {log:q}"


rule write_page:
    """Write the one page: the paper with the answers filled in."""
    input:
        claims="results/claims.json",
        summaries=PLAN.summaries(),
        figures=[path for label in PLAN.figures for path in plan.figure_files(label)],
    output:
        page=report(
            "results/index.html",
            caption="../report/index.rst",
            category="The page",
            labels={"figure": "index", "what": "The paper with the answers filled in"},
        ),
        overview="results/overview.html",
    log:
        "results/logs/index.log",
    benchmark:
        "results/benchmarks/index.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=when_needed(stage_code.digest_of, "page"),
        readings=FOUND["option"],
        readings_digest=FOUND["digest"],
    message:
        "write results/index.html"
    shell:
        "python -m cbo_pipeline page --results results --output {output.page:q} --overview {output.overview:q}"
        " {params.readings:q} 2> {log:q}"
