# One rule a figure, named by its label, so that each has a caption of its own in the report; and its number.
for label, figure in FIGURES.items():

    rule:
        """Draw this figure from the summaries of its curves, as PDF and PNG."""
        name:
            label
        input:
            summaries=curves_of_figure(label),
            costs=costs_of_figure(label),
            code=sources.files(f"figures.{figure.module}"),
        output:
            pdf=f"results/figures/{label}.pdf",
            png=report(
                f"results/figures/{label}.png",
                caption=caption_of(label),
                category=figure.category,
                labels={"figure": figure.number, "what": figure.title},
            ),
        log:
            f"results/logs/figures/{label}.log",
        benchmark:
            f"results/benchmarks/figures/{label}.tsv"
        conda:
            ENV
        threads: 1
        resources:
            mem_mb=2000,
            runtime=10,
        params:
            label=label,
        message:
            "draw {params.label}"
        shell:
            "python -m cbo_pipeline figure {params.label} {input.summaries:q} --costs {input.costs:q}"
            " --output {output:q} 2> {log:q}"

    rule:
        name:
            figure.number
        input:
            figure_files(label),
        localrule: True
