# One rule for each figure, so that each has a caption of its own in the report. It has the figure's number (fig2), so
# that --forcerun fig2 draws it again; the rule named by the label (sine_training) only asks for its files.
for label, figure in PLAN.figures.items():

    rule:
        """Draw this figure from the summaries of its curves, as PDF and PNG."""
        name:
            figure.number or label
        input:
            summaries=PLAN.summaries_of_figure(label),
            costs=PLAN.costs_of_figure(label),
            checks=PLAN.checks_of_figure(label),
        output:
            pdf=f"results/figures/{label}.pdf",
            png=report(
                f"results/figures/{label}.png",
                caption=driver.caption_of(label, ROOT),
                category=figure.category,
                labels={"figure": figure.number or label, "what": figure.title},
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
            code=when_needed(code.stage_digest, f"figures.{figure.module}"),
        message:
            "draw {params.label}"
        shell:
            "python -m cbo_pipeline figure {params.label:q} {input.summaries:q} --costs {input.costs:q}"
            " --checks {input.checks:q} --output {output:q} 2> {log:q}"

    if figure.number:

        rule:
            name:
                label
            input:
                plan.figure_files(label),
            localrule: True
