"""Errors that the user can fix. The command line prints them as one line, without a traceback."""

LONGEST = 700  # characters of a message; what is longer is cut in the middle


class UserError(Exception):
    """Something outside the program is wrong; the message, one line, says what, where, and what to do.

    ``code`` is the kind of mistake in a word or two ("duplicate-key"), ``key`` the place in the config, ``file`` the
    file: for programs and tests, which must not depend on the wording.
    """

    def __init__(self, message: str, *, code: str = "", key: str = "", file: str = ""):
        line = " ".join(message.splitlines())
        shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
        super().__init__(shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 200]} ... {shown[-190:]}")
        self.code, self.key, self.file = code, key, file


class ConfigError(UserError):
    """A setting is refused; the message starts with the key, or with the file where that cannot be read."""


class FileRefused(UserError):
    """A file is not what it should be; the message names it."""
