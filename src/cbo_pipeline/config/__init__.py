"""What is to be run: names of runs and curves, files laid over each other, checks and their messages, memory.

The config becomes frozen runs here; nothing later asks it again.
"""
