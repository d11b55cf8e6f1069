"""Errors that are a user's to mend. The command line prints them as one line, without a traceback."""


class UserError(Exception):
    """Something outside the program is wrong; the message says what, where, and what to do."""


class ConfigError(UserError):
    """A setting is refused; the message starts with the key."""


class FileRefused(UserError):
    """A file is not what it should be; the message names it."""
