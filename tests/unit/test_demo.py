"""The demo's config: minutes, all figures, and the paper's own scale where claims can be judged within them."""

import pytest

from cbo_pipeline import figures
from cbo_pipeline.claims import rule, theory
from cbo_pipeline.claims.evidence import paper_scales, scales
from cbo_pipeline.config import load_config
from cbo_pipeline.workflow import progress
from cbo_pipeline.workflow.plan import Plan
from tiny import ROOT

CORES, SECONDS = 2, 360  # eight minutes, less two for the environment


@pytest.fixture(scope="module")
def demo() -> dict:
    return load_config(ROOT / "workflow" / "demo.yaml")


@pytest.mark.parametrize("curve", [("sine", "cbo"), ("sine", "adam"), ("multi_task", "multi_task_cbo")])
def test_it_has_the_paper_s_scale_and_seeds_that_can_decide(demo, curve):
    """Claims 1, 2, 3, 7 and 8."""
    assert scales(demo)[curve] == paper_scales()[curve]
    seeds = {name.seed for name in Plan(demo).runs if (name.experiment, name.variant) == curve}
    assert rule.sign_rank(len(seeds)) >= 0


def test_memory_and_propositions_are_at_the_paper_s_scale(demo):
    """Claims 9, 15 and 16; claim 14 is a check of its own."""
    paper = paper_scales()
    found = scales(demo)
    for experiment in ("multi_task_memory", "variance_decay"):
        curves = [key for key in found if key[0] == experiment]
        assert len(curves) >= 6
        assert all(found[key] == paper[key] for key in curves)
    assert paper["multi_task", "multi_task_cbo"].N == found["multi_task_memory", "shared_5"].N
    condition = [scale for (experiment, _), scale in found.items() if experiment == theory.CONDITION]
    assert {scale.epochs for scale in condition} == {theory.STEPS}
    assert {scale.widths for scale in condition} == {theory.WIDTHS}
    assert len(condition) >= theory.RATIOS


def test_every_figure_can_be_drawn(demo):
    assert set(Plan(demo).figures) == set(figures.FIGURES)


def test_it_is_thought_to_take_less_than_six_minutes(demo):
    plan = Plan(demo)
    training = sum(progress.training_seconds(plan.curve_run(name.curve)) for name in plan.runs)
    others = len(plan.curves) + len(plan.experiments) + len(plan.costs_of_claims()) + len(plan.figures) + 8
    seconds = training + progress.START * (len(plan.runs) + others)
    assert seconds < CORES * SECONDS
