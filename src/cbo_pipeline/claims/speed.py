"""Speed and cost: the crossing on the sine, epochs to given risks on MNIST, seconds and bytes of every method."""

from typing import Any

from cbo_pipeline.claims import mnist, sine
from cbo_pipeline.claims.evidence import Evidence, NotTested


def speed(evidence: Evidence) -> dict[str, Any]:
    """What the claims about speed are based on; a part that is not known says why."""
    return {
        "crossing": _or_reason(sine.crossing_epoch, evidence),
        "epochs_to_reach": _or_reason(mnist.speeds, evidence),
        "costs": [
            {
                key: cost.get(key)
                for key in (
                    "experiment", "variant", "method", "M", "N", "seconds_per_iteration", "seconds_per_epoch",
                    "state_bytes", "peak_bytes",
                )
            }
            for cost in sorted(evidence.costs, key=lambda c: (c["experiment"], c["variant"], c["M"], c["N"]))
        ],
    }  # fmt: skip


def _or_reason(tell, evidence: Evidence) -> Any:
    try:
        return tell(evidence)
    except NotTested as reason:
        return {"not_tested": str(reason)}
