"""A page as PDF, printed by Chromium or Chrome if one is installed.

What differs from one printing to the next does not stay in its bytes: the dates, and the numbers that the browser
happened to have given to the elements of the page.
"""

import contextlib
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from cbo_pipeline.errors import FileRefused, UserError
from cbo_pipeline.files import check_writable, whole_file

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SECONDS = 300
DATE = re.compile(rb"/(CreationDate|ModDate) \(D:[^)]*\)")
ELEMENT = re.compile(rb"\(node(\d{8})\)")


def browser() -> str | None:
    """The browser that prints, or None."""
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def check(output: Path) -> None:
    """Refuse, before any work, a place that is taken by something else, or to print without a browser."""
    if browser() is None:
        words = f"--pdf: none of {', '.join(BROWSERS)} is installed; leave it out and print the page by hand"
        raise UserError(words, code="missing-program", key="--pdf")
    if output.suffix != ".pdf" or (output.exists() and not output.read_bytes().startswith(b"%PDF")):
        words = f"{output}: not a PDF; name another file, with a name that ends with .pdf"
        raise FileRefused(words, code="foreign", key="--pdf", file=str(output))
    check_writable(output)


def write(page: Path, output: Path) -> None:
    """Print a page. The same page gives the same bytes with the same browser."""
    program = browser()
    with tempfile.TemporaryDirectory(prefix="cbo_article_") as folder:
        made = Path(folder, "article.pdf")
        command = [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--user-data-dir={folder}/profile", "--no-pdf-header-footer", f"--print-to-pdf={made}",
            page.absolute().as_uri(),
        ]  # fmt: skip
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
        if not made.is_file():
            words = f"--pdf: {program} printed nothing; print {page} by hand"
            raise UserError(words, code="failed-program", key="--pdf")
        content = settled(made.read_bytes())
    with whole_file(output) as partial:
        partial.write_bytes(content)


def settled(content: bytes) -> bytes:
    """A PDF without dates, and with its elements numbered from zero on, in the order that they had.

    >>> settled(b"/ModDate (D:2026) (node00000163) (node00000160) (node00000163)")
    b'/ModDate (D:0000) (node00000001) (node00000000) (node00000001)'
    """
    content = DATE.sub(lambda found: _without_date(found[0]), content)
    places = {number: place for place, number in enumerate(sorted(set(ELEMENT.findall(content))))}
    return ELEMENT.sub(lambda found: b"(node%08d)" % places[found[1]], content)


def _without_date(entry: bytes) -> bytes:
    """The entry with zeros for digits: as long as before, so that all places in the file stay."""
    head, date = entry.split(b"(D:")
    return head + b"(D:" + re.sub(rb"\d", b"0", date)
