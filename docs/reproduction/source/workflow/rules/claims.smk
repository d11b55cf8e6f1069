rule check_barycentres:
    """Check Proposition 2 on small ensembles: fixed points, all permutations, measures of more atoms."""
    output:
        "results/checks/barycentres.json",
    log:
        "results/logs/checks/barycentres.log",
    benchmark:
        "results/benchmarks/checks/barycentres.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=when_needed(code.check_digest, "barycentres"),
    message:
        "check barycentres"
    shell:
        "python -m cbo_pipeline check-barycentres --output {output:q} 2> {log:q}"


rule check_rule:
    """Check the rule of evidence on synthetic evidence: how often does it err?"""
    output:
        "results/checks/rule_errors.json",
    log:
        "results/logs/checks/rule_errors.log",
    benchmark:
        "results/benchmarks/checks/rule_errors.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        code=when_needed(code.check_digest, "rule_errors"),
    message:
        "check the rule of evidence"
    shell:
        "python -m cbo_pipeline check-rule --output {output:q} 2> {log:q}"


rule check_spread:
    """Measure how far the particles of CBO on the sine differ, parameter by parameter, in both precisions."""
    input:
        PLAN.runs_of_check("spread"),
    output:
        "results/checks/spread.json",
    log:
        "results/logs/checks/spread.log",
    benchmark:
        "results/benchmarks/checks/spread.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=when_needed(code.check_digest, "spread"),
    message:
        "check the spread of ensembles"
    shell:
        "python -m cbo_pipeline check-spread {input:q} --output {output:q} 2> {log:q}"


rule check_unseen:
    """Measure how an ensemble spreads in directions that the risk does not see, as on MNIST."""
    output:
        "results/checks/unseen.json",
    log:
        "results/logs/checks/unseen.log",
    benchmark:
        "results/benchmarks/checks/unseen.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=when_needed(code.check_digest, "unseen"),
    message:
        "check unseen directions"
    shell:
        "python -m cbo_pipeline check-unseen --output {output:q} 2> {log:q}"


rule record_settings:
    """Write the versions and the whole config as a page of the report."""
    output:
        report(
            "results/settings.html",
            caption="../report/settings.rst",
            category="Settings",
            labels={"figure": "settings", "what": "Versions and config"},
        ),
    log:
        "results/logs/settings.log",
    benchmark:
        "results/benchmarks/settings.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        settings=json.dumps(PLAN.config),
        code=when_needed(stage_code.digest_of, "settings"),
    message:
        "record the settings"
    shell:
        "python -m cbo_pipeline record --settings {params.settings:q} --output {output:q} 2> {log:q}"


rule judge_claims:
    """Judge the claims of the paper by the summaries, the measured costs and the checks."""
    input:
        summaries=PLAN.summaries(),
        costs=PLAN.costs_of_claims(),
        checks=plan.CHECKS,
    output:
        json="results/claims.json",
        markdown="results/claims.md",
        html=report(
            "results/claims.html",
            caption="../report/claims.rst",
            category="Claims",
            labels={"figure": "claims", "what": "Every claim of the paper, judged"},
        ),
        speed="results/speed.json",
    log:
        "results/logs/claims.log",
    benchmark:
        "results/benchmarks/claims.tsv"
    conda:
        ENV
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=when_needed(stage_code.digest_of, "verdicts"),
        readings=FOUND["option"],
        readings_digest=FOUND["digest"],
    message:
        "judge the claims of the paper"
    shell:
        "python -m cbo_pipeline claims {input.summaries:q} {input.costs:q} {input.checks:q} --json {output.json:q}"
        " --markdown {output.markdown:q} --html {output.html:q} --speed {output.speed:q} {params.readings:q} 2> {log:q}"
