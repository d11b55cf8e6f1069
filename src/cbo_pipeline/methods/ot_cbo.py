"""Optimal-transport CBO for one task, Section 5 of the paper."""

from dataclasses import dataclass
from typing import final

from cbo_pipeline.methods._barycentre import BarycentreMethod, complaint


@final
@dataclass(frozen=True)
class OTCBO(BarycentreMethod):
    """Particles move along optimal transport maps to their weighted barycentre, Eqs. (eq:OT_discrete_w) ff."""

    @classmethod
    def check(cls, settings, M, N):
        return complaint(settings)
