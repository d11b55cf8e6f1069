"""Two-layer neural networks trained with consensus-based optimisation: one paper, reproduced.

The front door for people who write Python (docs/python.md):

    import cbo_pipeline as cbo
    run = cbo.train("sine", "cbo", seed=0, epochs=300)   # an xarray.Dataset
"""

import importlib

__version__ = "1.0.0"

# What the front door offers, and where it lives. Nothing is imported before it is asked for.
_OFFERED = {
    "train": "cbo_pipeline.api",
    "predict": "cbo_pipeline.api",
    "load_config": "cbo_pipeline.config",
    "open_run": "cbo_pipeline.api",
    "open_summary": "cbo_pipeline.api",
    "Method": "cbo_pipeline.methods.base",
    "Problem": "cbo_pipeline.problems.base",
}
__all__ = sorted(_OFFERED)


def __getattr__(name: str):
    if name not in _OFFERED:
        raise AttributeError(f"module 'cbo_pipeline' has no attribute {name!r}; it offers {', '.join(__all__)}")
    return getattr(importlib.import_module(_OFFERED[name]), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
