"""Many runs under fire: a workflow of a thousand tiny runs while a monkey kills, fills, stops and flips.

    python -m soak --runs 1000 --faults 200        (make soak; PYTHONPATH has src and tests)

``workload`` is what is made, ``place`` where it is made, ``monkey`` what is done to it, ``campaign`` the whole, with
what must be true at its end, and ``table`` what is told of it.
"""
