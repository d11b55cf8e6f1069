"""Two-layer neural networks trained with consensus-based optimisation: one paper, reproduced."""

__version__ = "0.1.0"
