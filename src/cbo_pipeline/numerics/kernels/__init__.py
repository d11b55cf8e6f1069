"""Compiled code, and the one place (``compiler``) that says how it is compiled and cached.

Every loop over particles that decides the speed is here; the plain formulas it is tested against are in the tests.
"""

from cbo_pipeline.numerics.kernels import seals

seals.guard()
