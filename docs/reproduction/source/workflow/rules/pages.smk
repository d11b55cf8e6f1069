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


rule article:
    """Write the short article on these results, as one page and as Markdown."""
    input:
        claims="results/claims.json",
        speed="results/speed.json",
        summaries=PLAN.summaries(),
        checks=PLAN.explained(),
        figures=[
            path
            for labels in article.SHOWN.values()
            for label in labels
            if label in PLAN.figures
            for path in plan.figure_files(label)
        ],
        authors=f"{ROOT}/CITATION.cff",
    output:
        page="results/article.html",
        markdown="results/article.md",
    log:
        "results/logs/article.log",
    benchmark:
        "results/benchmarks/article.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=when_needed(stage_code.digest_of, "article"),
        readings_digest=FOUND["digest"],
    message:
        "write results/article.html"
    shell:
        "python -m cbo_pipeline article --results results --output {output.page:q} --markdown {output.markdown:q}"
        " 2> {log:q}"
