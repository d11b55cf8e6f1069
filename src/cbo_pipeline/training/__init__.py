"""The training loop, what it records, its checkpoints, and what it costs.

Methods and problems are its arguments; files of results are written elsewhere.
"""
