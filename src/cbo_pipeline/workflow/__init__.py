"""What Snakemake asks for: the plan of targets and inputs, and its lock.

The rules in ``workflow/rules`` call these functions, so that they can be tested without Snakemake.
"""
