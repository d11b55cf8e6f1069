"""Links to the files beside the page, and to the code."""

import html
import inspect
import os
from pathlib import Path

from cbo_pipeline import claims
from cbo_pipeline.pages.index.chapters import Evidence
from cbo_pipeline.pages.index.content import Content


class Links:
    """Addresses of files beside the page and of the code, relative to the page; nothing where a file is missing."""

    def __init__(self, content: Content, output: Path):
        self.content, self.place = content, output.absolute().parent

    def to(self, path: Path, text: str) -> str:
        """A link to a file, or the plain text if it is not there."""
        if not path.exists():
            return html.escape(text)
        relative = Path(os.path.relpath(path.absolute(), self.place)).as_posix()
        return f'<a href="{html.escape(relative)}">{html.escape(text)}</a>'

    def to_judge(self, id: int) -> str:
        """A link to the function that judges a claim."""
        claim = next((claim for claim in claims.CLAIMS if claim.id == id), None)
        judge = inspect.unwrap(getattr(claim.judge, "func", claim.judge)) if claim else None
        if judge is None or not inspect.isfunction(judge):
            return ""
        path = Path(inspect.getsourcefile(judge))
        name = f"{path.parent.name}/{path.name}: {judge.__name__}"
        return self.to(path, name)

    def to_data(self, evidence: Evidence) -> str:
        folder = self.content.folder
        files = [folder / "summary" / f"{name}.nc" for name in evidence.experiments]
        files += [folder / name for name in evidence.files if "*" not in name]
        return ", ".join(self.to(path, path.relative_to(folder).as_posix()) for path in files)
