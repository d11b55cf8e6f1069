"""The short article: what was reproduced, what not, what turns with the reading, and what we learned.

template.md   the prose, with a place for every value
facts, findings, numbers    the values, made from results; no sentence claims what they do not show
render        Markdown, and one HTML page that loads nothing
pdf           the page printed, by a browser that is installed
"""

from importlib import resources
from pathlib import Path

from cbo_pipeline.files import mark, whole_file
from cbo_pipeline.results.stage_code import digest_of

# Figures of the paper that are shown, by their places in the template.
SHOWN = {
    "figures_reproduced": ("sine_training", "comparison_cbo_adam"),
    "figures_others": ("mean_field_M", "mean_field_N"),
}
TITLE = "[Re] Mean-field training of two-layer networks by consensus"


def write(results: Path, output: Path, markdown: Path | None = None) -> None:
    """Make the article of a folder of results, the workflow's own or a published one."""
    from cbo_pipeline.claims import files
    from cbo_pipeline.pages.article import facts, render
    from cbo_pipeline.pages.index import content

    found = content.read(results)
    blocks = render.filled(_asset("template.md"), facts.values(found, files.read_folder(results)))
    _write(output, render.page(blocks, _asset("article.css"), TITLE))
    if markdown:
        _write(markdown, render.markdown(blocks, Path(markdown).parent))


def _write(path: Path, text: str) -> None:
    with whole_file(path) as partial:
        partial.write_text(f"{text}<!-- {mark('article', digest_of('article'))} -->\n", encoding="utf-8")


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
