# No rules: see driver_lock.py.
