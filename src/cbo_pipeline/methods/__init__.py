"""How the risk is minimised. One file per method, its equation in a few lines.

Adding a file adds a method (docs/extending.md). Methods know the problem only through its base class.
"""

import sys

from cbo_pipeline import plugins
from cbo_pipeline.methods.base import Method


def names() -> tuple[str, ...]:
    """All methods by name."""
    return plugins.names(sys.modules[__name__])


def find(name: str) -> type[Method]:
    """The method of that name: a dataclass whose fields are its settings."""
    return plugins.find(sys.modules[__name__], name, Method)
