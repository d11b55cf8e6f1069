"""The commands, by what they are for: each module declares its commands beside the functions that run them.

Heavy modules are imported inside the functions, so that every command starts as fast as it can.
"""
