"""Where commands write: to files that are new, or that this pipeline made, of the same kind.

Anything else is refused before any work is done: a folder, a device, a file of somebody else's, a result of another
kind or of an older contract, a write-protected file, an input of the same command. ``--force`` replaces a file that
is not ours; nothing makes a file out of a folder or a device. A link is followed to its target.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from cbo_pipeline import files
from cbo_pipeline.cli import streams
from cbo_pipeline.errors import FileRefused


@dataclass(frozen=True)
class Output:
    """A file that a command is about to write: the option that names it, its path, the kind of its content."""

    option: str
    path: Path
    kind: str


def file_name(text: str) -> Path:
    """The type of every option that names a file to write. ``Path`` alone would forget a slash at the end."""
    if not text or "\0" in text:
        raise FileRefused(f"{text!r}: not the name of a file", code="no-name", file=text)
    if text == "-":
        raise FileRefused("-: results go to files, not to standard output; name a file", code="not-a-file", file=text)
    if text.endswith(("/", "/.", "/..")) or text in (".", ".."):
        words = f"{text}: a folder, where a file is to be written; name a file in it"
        raise FileRefused(words, code="folder", file=text)
    return Path(text)


def check(outputs: Iterable[Output | None], inputs: Iterable[Path] = (), force: bool = False) -> None:
    """Refuse outputs that must not be written. Nothing is written, made or removed here."""
    outputs = [output for output in outputs if output is not None]
    places: dict[str, Output] = {}
    sources = {os.path.realpath(path) for path in inputs}
    for output in outputs:
        place = os.path.realpath(output.path)
        if place in places:
            raise _refused(output, "named twice; every output needs a file of its own", "twice")
        if place in sources:
            raise _refused(output, "an input of the same command; name another file", "is-input")
        places[place] = output
        files.refuse_irregular(output.path)
        if not force:
            _refuse_foreign(output)
    for output in outputs:
        files.check_writable(output.path)


def check_folder(option: str, folder: Path, marked_by: str, inputs: Iterable[Path] = ()) -> None:
    """Refuse a folder to fill unless it is new, empty, or was filled by the same command before."""
    place = os.path.realpath(folder)
    for path in map(os.path.realpath, inputs):
        if place == path or place.startswith(f"{path}{os.sep}") or path.startswith(f"{place}{os.sep}"):
            words = f"{folder}: lies in an input of the same command, or holds it; name another folder"
            raise FileRefused(words, code="is-input", key=option, file=str(folder))
    if not folder.is_dir():
        if folder.exists() or folder.is_symlink():
            words = f"{folder}: a file, where a folder is to be filled; name another"
            raise FileRefused(words, code="not-a-folder", key=option, file=str(folder))
        files.check_writable(folder / marked_by)
    elif any(folder.iterdir()) and not (folder / marked_by).is_file():
        words = f"{folder}: there already, and filled by something else; name a new folder"
        raise FileRefused(words, code="foreign", key=option, file=str(folder))


def mark_folder(folder: Path, name: str) -> None:
    """Let a folder be known as one that this command may fill again."""
    with files.whole_file(folder / name) as partial:
        partial.write_text(f"{files.mark('folder')}\n", encoding="utf-8")


def tell_what_is_replaced(path: Path, settings: str) -> None:
    """A remark if the file is of a run with other settings: a second attempt often forgets to change the name."""
    from cbo_pipeline.results import kinds

    found = kinds.kind_of(path) if path.exists() and path.stat().st_size else None
    if found is not None and found.settings not in ("", settings):
        streams.say(f"{path}: holds a run with other settings, which is replaced when this one ends")


def _refuse_foreign(output: Output) -> None:
    """Refuse a file that is there and that this pipeline would not have written here."""
    if not output.path.exists() or not output.path.stat().st_size:
        return
    from cbo_pipeline.results import kinds
    from cbo_pipeline.results.contract import CONTRACT

    remedy = "name another file, or add --force to replace it"
    if not output.path.stat().st_mode & 0o222:
        raise _refused(output, f"write-protected; {remedy}", "write-protected")
    found = kinds.kind_of(output.path)
    if found is None:
        raise _refused(output, f"there already, and not made by this pipeline (or damaged); {remedy}", "foreign")
    if found.name != output.kind:
        raise _refused(output, f"there already, a {found.name} and not a {output.kind}; {remedy}", "other-kind")
    if found.contract != CONTRACT:
        words = f"there already, written under contract {found.contract}, this is contract {CONTRACT}; {remedy}"
        raise _refused(output, words, "other-contract")


def _refused(output: Output, words: str, code: str) -> FileRefused:
    return FileRefused(f"{output.path}: {words}", code=code, key=output.option, file=str(output.path))
