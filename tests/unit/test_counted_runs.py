"""How many runs are behind a figure, in words."""

import pytest

import synthetic
from cbo_pipeline.figures import style


@pytest.mark.parametrize(
    ("seeds", "said"), [((3,), "3 runs"), ((1,), "1 run"), ((4, 4), "4 runs each"), ((4, 1, 2), "1 to 4 runs each")]
)
def test_runs_are_counted_without_seeds_that_only_other_curves_have(seeds, said):
    curves = [
        synthetic.curve("sine", f"v{k}", [[1.0, 0.5]] * count, M=3, N=4, method="cbo")
        for k, count in enumerate(seeds)
    ]
    data = synthetic.summary(*curves)
    assert style.counted_runs(*(data.isel(curve=k) for k in range(len(seeds)))) == said
