"""A page of the report: the versions of everything that can change a number, and the config of the run."""

import html
from pathlib import Path
from typing import Any

from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.results.stage_code import digest_of

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; max-width: 60rem; margin: 1.5rem auto; padding: 0 1rem; }
td { padding: 0.15rem 1.5rem 0.15rem 0; }
pre { background: #f5f5f5; padding: 1rem; overflow-x: auto; }
"""


def write_record(config: dict[str, Any], versions: dict[str, str], path: Path) -> None:
    """The config as it was after all files were laid over each other."""
    import yaml

    rows = "".join(f"<tr><td>{html.escape(name)}<td>{html.escape(found)}</tr>" for name, found in versions.items())
    text = html.escape(yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    ours = f"<meta name='generator' content='{mark('settings', digest_of('settings'))}'>"
    head = f"<meta charset='utf-8'>{ours}<title>Settings</title><style>{STYLE}</style>"
    page = (
        f"<!doctype html><html lang='en'><head>{head}</head>"
        f"<body><h1>Versions</h1><table>{rows}</table><h1>The config</h1><pre>{text}</pre></body></html>\n"
    )
    with whole_file(path) as partial:
        partial.write_text(page, encoding="utf-8")
