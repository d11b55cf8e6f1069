"""The command line: parser, commands, progress, completion.

Nothing else parses arguments or prints to a terminal.
"""
