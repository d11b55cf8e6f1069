"""What the tests of refused commands share: the answer to a command, and the state of a folder before and after."""

import hashlib
import stat
from pathlib import Path

import pytest

from cbo_pipeline.cli.main import main, run
from cbo_pipeline.errors import UserError

Entry = tuple[int, int, str]  # mode, time of change, content


def state(folder: Path) -> dict[str, Entry]:
    """Everything below a folder, links not followed: what a refused command must leave as it is."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = path.lstat()
        if stat.S_ISREG(status.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            content = str(path.readlink()) if stat.S_ISLNK(status.st_mode) else ""
        changed = 0 if stat.S_ISDIR(status.st_mode) else status.st_mtime_ns  # a folder's is what is in it
        found[str(path)] = (status.st_mode, changed, content)
    return found


def refusal(capsys, arguments, folder: Path) -> UserError:
    """The error with which a command is refused, after all that every refusal promises was checked.

    One line on standard error, nothing on standard output, exit code 2, and the folder is as it was.
    """
    arguments, before = [str(argument) for argument in arguments], state(folder)
    with pytest.raises(UserError) as refused:
        run(arguments)
    capsys.readouterr()
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert said.err == f"cbo-pipeline: {refused.value}\n"
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert len(said.err) < 1000
    assert state(folder) == before
    assert refused.value.code, f"an error without a code: {said.err}"
    return refused.value
