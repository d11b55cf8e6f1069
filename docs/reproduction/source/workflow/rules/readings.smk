READING_RECORDS = shared_jobs.Records(READINGS.runs_like, workflow)


rule train_reading:
    """Train one run of another reading of the paper."""
    input:
        data=READINGS.data_of,
    output:
        "results/readings/{reading}/runs/{experiment}/{variant}/M{M}_N{N}_seed{seed}.nc",
    log:
        "results/logs/readings/{reading}/{experiment}/{variant}/M{M}_N{N}_seed{seed}.log",
    benchmark:
        "results/benchmarks/readings/{reading}/{experiment}/{variant}/M{M}_N{N}_seed{seed}.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=READINGS.megabytes,
        runtime=READINGS.minutes,
        gpu=READINGS.gpus,
    params:
        settings=READING_RECORDS.settings,
        code=READINGS.code_of_run,
        checkpoint=READING_RECORDS.checkpoint,
    message:
        "train {wildcards.experiment}/{wildcards.variant}, seed {wildcards.seed}, as {wildcards.reading} reads it"
    shell:
        "python -m cbo_pipeline train --settings {params.settings:q} --checkpoint {params.checkpoint:q}"
        " --output {output:q} 2> {log:q}"


use rule summarise_curve as summarise_reading with:
    input:
        runs=READINGS.runs_of,
    output:
        "results/readings/{reading}/summary/{experiment}/{variant}_M{M}_N{N}.nc",
    log:
        "results/logs/readings/{reading}/summary/{experiment}/{variant}_M{M}_N{N}.log",
    benchmark:
        "results/benchmarks/readings/{reading}/summary/{experiment}/{variant}_M{M}_N{N}.tsv"
    wildcard_constraints:
        experiment=plan.one_of(PLAN.experiments),
    resources:
        mem_mb=2000,
        runtime=10,
        gpu=READINGS.gpus,
    params:
        code=READINGS.code_of_summary,
        seeds=READINGS.seeds_of,
        folder="results/readings/{reading}/runs/{experiment}/{variant}",
        sizes="M{M}_N{N}",
    message:
        "summarise {wildcards.experiment}/{wildcards.variant} as {wildcards.reading} reads it"


rule judge_readings:
    """Judge the claims under every reading, beside the base on the same seeds."""
    input:
        summaries=READINGS.summaries,
        base=PLAN.summaries(),
        costs=PLAN.costs_of_claims(),
        checks=plan.CHECKS,
        declared=f"{ROOT}/workflow/readings.yaml",
    output:
        json="results/readings.json",
        markdown="results/readings.md",
    log:
        "results/logs/readings.log",
    benchmark:
        "results/benchmarks/readings.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        overlays=[word for path in READINGS.overlays for word in ("--config", str(path))],
        code=when_needed(stage_code.digest_of, "readings"),
    message:
        "judge the claims under other readings"
    shell:
        "python -m cbo_pipeline readings {params.overlays:q} --json {output.json:q}"
        " --markdown {output.markdown:q} 2> {log:q}"


for label, figure in figures.OF_READINGS.items():

    rule:
        """Draw this figure of the readings, as PDF and PNG."""
        name:
            f"draw_{label}"
        input:
            "results/readings.json",
        output:
            pdf=f"results/figures/{label}.pdf",
            png=report(
                f"results/figures/{label}.png",
                caption=driver.caption_of(label, ROOT),
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
            code=when_needed(code.stage_digest, f"figures.{figure.module}"),
        message:
            "draw {params.label}"
        shell:
            "python -m cbo_pipeline figure {params.label:q} --readings {input:q} --output {output:q} 2> {log:q}"


for experiment in readings.EXPERIMENTS:

    rule:
        """Train and summarise what the readings change of one experiment; `cbo-pipeline readings` judges what is there."""
        name:
            f"readings_{experiment}"
        input:
            READINGS.summaries_of(experiment),
        localrule: True


rule readings:
    """The other readings of the paper: runs, verdicts and figures."""
    input:
        rules.judge_readings.output,
        [path for label in figures.OF_READINGS for path in plan.figure_files(label)],
    localrule: True
