rule draw_figure:
    """Draw one figure from the summaries of its curves, as PDF and PNG."""
    input:
        summaries=lambda wildcards: curves_of_figure(wildcards.label),
        costs=lambda wildcards: costs_of_figure(wildcards.label),
        code=lambda wildcards: sources.files(f"figures.{figures.FIGURES[wildcards.label].module}"),
    output:
        pdf="results/figures/{label}.pdf",
        png=report(
            "results/figures/{label}.png",
            caption="../report/figure.rst",
            category=lambda wildcards: figures.FIGURES[wildcards.label].category,
            labels=lambda wildcards: {
                "figure": figures.FIGURES[wildcards.label].number,
                "what": figures.FIGURES[wildcards.label].title,
            },
        ),
    log:
        "results/logs/figures/{label}.log",
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    message:
        "draw {wildcards.label}"
    shell:
        "python -m cbo_pipeline figure {wildcards.label} {input.summaries:q} --costs {input.costs:q}"
        " --output {output:q} 2> {log:q}"


for label, figure in FIGURES.items():

    rule:
        name:
            label
        input:
            figure_files(label),
        localrule: True

    rule:
        name:
            figure.number
        input:
            figure_files(label),
        localrule: True
