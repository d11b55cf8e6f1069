"""Errors that are a user's to mend. The command line prints them as one line, without a traceback."""


class UserError(Exception):
    """Something outside the program is wrong; the message, one line, says what, where, and what to do."""

    def __init__(self, message: str):
        line = " ".join(message.splitlines())
        super().__init__("".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))


class ConfigError(UserError):
    """A setting is refused; the message starts with the key."""


class FileRefused(UserError):
    """A file is not what it should be; the message names it."""
