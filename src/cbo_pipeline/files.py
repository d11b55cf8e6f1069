"""Files that are there whole or not at all."""

import os
from pathlib import Path


class whole_file:
    """``with whole_file(path) as partial``: write to ``partial``; it becomes ``path`` only if all went well."""

    def __init__(self, path: str | Path):
        self.path = Path(path)
        self.partial = self.path.with_name(f".{self.path.name}.{os.getpid()}.partial")

    def __enter__(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return self.partial

    def __exit__(self, kind, error, trace) -> None:
        try:
            if kind is None:
                with self.partial.open("rb+") as file:
                    os.fsync(file.fileno())
                self.partial.replace(self.path)
        finally:
            self.partial.unlink(missing_ok=True)
