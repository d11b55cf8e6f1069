"""What is minimised: data, initial law, risks of all particles, gradients. One file per problem.

Adding a file adds a problem (docs/extending.md). Problems know nothing of methods.
"""

import sys

from cbo_pipeline import plugins
from cbo_pipeline.problems.base import Problem


def names() -> tuple[str, ...]:
    """All problems by name."""
    return plugins.names(sys.modules[__name__])


def find(name: str) -> type[Problem]:
    """The problem of that name: a dataclass whose fields are its settings."""
    return plugins.find(sys.modules[__name__], name, Problem)
