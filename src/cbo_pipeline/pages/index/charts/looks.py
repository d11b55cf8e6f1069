"""What charts of training share: quantities, the looks and names of methods, and lines."""

from collections.abc import Sequence

import numpy as np

from cbo_pipeline.pages.index.content import Curve
from cbo_pipeline.pages.index.training import Line, Quantity
from cbo_pipeline.pages.index.vega import BLUE, DASH_DOT, DASHED, GREEN, RED, SOLID

RISK = Quantity("risk", "risk")
VARIANCE = Quantity("variance", "variance")
ACCURACY = Quantity("accuracy", "accuracy on test images", False, ".3f", worst=-np.inf)
LOOP = Quantity("risk_loop", "risk as the loop prints it")
LOOKS = {"cbo": (BLUE, SOLID), "adam": (RED, DASHED), "hybrid": (GREEN, DASH_DOT)}
NAMES = {"cbo": "CBO", "adam": "Adam", "hybrid": "hybrid", "ot_cbo": "optimal-transport CBO"}


def line_of(curve: Curve, label: str, look: tuple[str, Sequence[int]], names: Sequence[str], on=True) -> Line:
    """A line of a chart of training from a curve, with those of the quantities that it has."""
    data = {name: (curve.epochs, values) for name in names if (values := curve.series(name)) is not None}
    strokes = {name: curve.strokes(name) for name in data}
    # Adam swings from epoch to epoch: a thin line.
    return Line(label, *look, data, strokes, curve.seeds, on, 0.9 if curve.method == "adam" else 1.8)
