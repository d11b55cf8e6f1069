"""Commands that make pages: ``record``, ``page``, ``animate``, ``compare`` and ``publish``."""

import sys
from pathlib import Path

from cbo_pipeline.cli.commands.options import add_command, add_output
from cbo_pipeline.errors import ConfigError

PURPOSE = "pages"


def declare(commands) -> None:
    command = add_command(commands, "record", "write versions and config as a page of the report", _record)
    command.add_argument("--settings", required=True, metavar="JSON", help="the whole config")
    add_output(command, "HTML")
    command = add_command(commands, "page", "make one page of all results, which opens without a network", _page)
    command.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")
    command.add_argument("--readings", type=Path, metavar="FILE", help="verdicts under other readings, if elsewhere")
    add_output(command, "HTML")
    command = add_command(commands, "animate", "draw the film of the gathering ensemble", _animate)
    command.add_argument("summary", type=Path, help="the summary of the experiment gathering")
    add_output(command, "GIF")
    what = "compare two folders of results; exit code 1 if they differ by more than the spread over seeds"
    command = add_command(commands, "compare", what, _compare)
    command.add_argument("one", type=Path, help="folder of results, such as results")
    command.add_argument("other", type=Path, help="folder of results, such as docs/reproduction")
    command.add_argument("--json", type=Path, metavar="FILE", help="write the comparison as data")
    command = add_command(
        commands, "publish", "gather figures, verdicts, summaries and costs in one folder", _publish
    )
    command.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")
    command.add_argument("--output", required=True, type=Path, help="folder to fill; what it holds is replaced")
    command.add_argument("--readme", type=Path, metavar="FILE", help="page whose part on the results is made anew")


def _record(options) -> int:
    import json

    from cbo_pipeline.pages import settings
    from cbo_pipeline.results.versions import versions

    try:
        config = json.loads(options.settings)
    except ValueError:
        raise ConfigError("--settings: not valid JSON") from None
    settings.write_record(config, versions(), options.output)
    return 0


def _page(options) -> int:
    from cbo_pipeline.pages import index

    size = index.write(options.results, options.output, options.readings)
    print(f"{options.output}: {size / 1e6:.1f} MB", file=sys.stderr)
    return 0


def _animate(options) -> int:
    from cbo_pipeline.figures import animation
    from cbo_pipeline.results import summaries

    data = summaries.read(options.summary)
    animation.gathering({data.attrs["experiment"]: data}, options.output)
    return 0


def _compare(options) -> int:
    from cbo_pipeline.pages import compare
    from cbo_pipeline.pages.claims import write_json

    rows = compare.compare(options.one, options.other)
    if options.json:
        write_json(compare.as_json(rows, options.one, options.other), options.json)
    print("\n".join(compare.lines(rows)))
    return compare.exit_code(rows)


def _publish(options) -> int:
    from cbo_pipeline.pages import publish

    made = publish.publish(options.results, options.output, options.readme)
    size = sum(path.stat().st_size for path in made) / 1e6
    print(
        f"{len(made)} files, {size:.1f} MB, in {options.output}" + (f"; {options.readme}" if options.readme else "")
    )
    return 0
