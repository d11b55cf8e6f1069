from snakemake.utils import min_version

min_version("9.0")


# This folder, also where workflow/Snakefile includes this file.
ROOT = str(workflow.current_basedir)


configfile: f"{ROOT}/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/train.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/cost.smk"
include: "workflow/rules/summarise.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/readings.smk"
include: "workflow/rules/pages.smk"


report: "workflow/report/workflow.rst"


rule all:
    """Everything: all summaries and figures of the config, the claims judged."""
    default_target: True
    input:
        PLAN.everything(),
    localrule: True


include: "workflow/rules/driver.smk"
