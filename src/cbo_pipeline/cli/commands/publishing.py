"""Commands that make pages: ``record``, ``page``, ``redraw``, ``compare``, ``article``, ``publish``."""

from pathlib import Path

from cbo_pipeline.cli import outputs, streams
from cbo_pipeline.cli.commands.options import add_command, add_force, add_output, check_output
from cbo_pipeline.errors import ConfigError

PURPOSE = "pages"
REDRAWN = ".redrawn"  # the file by which a folder that `redraw` filled is known


def declare(commands) -> None:
    command = add_command(commands, "record", "write versions and config as a page of the report", _record)
    command.add_argument("--settings", required=True, metavar="JSON", help="the whole config")
    add_output(command, "HTML")
    command = add_command(commands, "page", "write the one page: the paper with the answers filled in", _page)
    _add_results(command)
    command.add_argument("--readings", type=Path, metavar="FILE", help="readings.json (default: that of the results)")
    command.add_argument(
        "--overview", type=outputs.file_name, metavar="FILE", help="write the first view of Snakemake's report, too"
    )
    add_output(command, "HTML")
    what = "draw all figures, judge all claims and write the page from published summaries, without training"
    command = add_command(commands, "redraw", what, _redraw)
    command.add_argument("published", type=Path, help="a folder that `publish` made, such as docs/reproduction")
    command.add_argument("--output", required=True, type=Path, metavar="DIR", help="the folder to fill")
    what = "compare two folders of results: every curve, figure and verdict"
    command = add_command(commands, "compare", what, _compare)
    command.add_argument("one", type=Path, help="a folder of results, such as results")
    command.add_argument("other", type=Path, help="another one, such as docs/reproduction")
    command.add_argument("--json", type=outputs.file_name, metavar="FILE", help="write the table as data")
    add_force(command)
    command = add_command(commands, "article", "write the short article on the results", _article)
    _add_results(command)
    command.add_argument("--markdown", type=outputs.file_name, metavar="FILE", help="write it as Markdown, too")
    command.add_argument("--pdf", type=outputs.file_name, metavar="FILE", help="print it with Chromium, too")
    add_output(command, "HTML")
    command = add_command(
        commands, "publish", "gather figures, verdicts, summaries and costs in one folder", _publish
    )
    _add_results(command)
    command.add_argument(
        "--output", required=True, type=Path, help="folder to fill; what was published there before is replaced"
    )
    command.add_argument("--readme", type=Path, metavar="FILE", help="page whose part on the results is rewritten")
    how = command.add_mutually_exclusive_group()
    what = "add the results to what was published, and make all that depends on them again"
    how.add_argument("--add", action="store_true", help=what)
    what = "make figures, verdicts and pages again from what was published; no results are needed"
    how.add_argument("--again", action="store_true", help=what)
    what = "the results are published ones that were made again: add what it took, and keep the published numbers"
    how.add_argument("--repeated", action="store_true", help=what)


def _add_results(command) -> None:
    command.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")


def _page(options) -> int:
    from cbo_pipeline.pages import index, overview

    written = [outputs.Output("--output", options.output, "page")]
    written += [outputs.Output("--overview", options.overview, "overview")] if options.overview else []
    outputs.check(written, filter(None, [options.readings]), options.force)
    size = index.write(options.results, options.output, options.readings)
    if options.overview:
        overview.write(options.results, options.overview)
    streams.say(f"{options.output}: {size / 1e6:.1f} MB")
    return 0


def _redraw(options) -> int:
    from cbo_pipeline.pages import redraw

    outputs.check_folder("--output", options.output, REDRAWN, [options.published])
    for line in redraw.redraw(options.published, options.output):
        streams.say(line)
    outputs.mark_folder(options.output, REDRAWN)
    return 0


def _compare(options) -> int:
    from cbo_pipeline.pages import compare
    from cbo_pipeline.pages.claims import write_json

    if options.json:
        outputs.check([outputs.Output("--json", options.json, "comparison")], force=options.force)
    rows = compare.compare(options.one, options.other)
    streams.tell("\n".join(compare.lines(rows)))
    if options.json:
        write_json(compare.as_json(rows, options.one, options.other), options.json)
    return compare.exit_code(rows)


def _record(options) -> int:
    import json

    from cbo_pipeline.pages import settings
    from cbo_pipeline.results.versions import versions

    try:
        config = json.loads(options.settings)
    except (ValueError, RecursionError):
        words = "--settings: not valid JSON; the workflow gives the whole config"
        raise ConfigError(words, code="not-json", key="--settings") from None
    if not isinstance(config, dict):
        raise ConfigError("--settings: not a config; it is a mapping", code="wrong-type", key="--settings")
    check_output(options, "settings")
    settings.write_record(config, versions(), options.output)
    return 0


def _article(options) -> int:
    from cbo_pipeline.pages import article
    from cbo_pipeline.pages.article import pdf

    written = [outputs.Output("--output", options.output, "article")]
    written += [outputs.Output("--markdown", options.markdown, "article")] if options.markdown else []
    outputs.check(written, force=options.force)
    if options.pdf:
        pdf.check(options.pdf)
    article.write(options.results, options.output, options.markdown)
    if options.pdf:
        pdf.write(options.output, options.pdf)
    return 0


def _publish(options) -> int:
    from cbo_pipeline.pages import publish

    if options.again:
        made = publish.again(options.output, options.readme)
    else:
        make = publish.repeated if options.repeated else publish.add if options.add else publish.publish
        made = make(options.results, options.output, options.readme)
    size = sum(path.stat().st_size for path in made) / 1e6
    streams.tell(
        f"{len(made)} files, {size:.1f} MB, in {options.output}" + (f"; {options.readme}" if options.readme else "")
    )
    return 0
