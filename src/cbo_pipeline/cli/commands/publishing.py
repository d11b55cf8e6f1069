"""Commands that make pages: ``record`` and ``publish``."""

from pathlib import Path

from cbo_pipeline.cli import streams
from cbo_pipeline.cli.commands.options import add_command, add_output, check_output
from cbo_pipeline.errors import ConfigError

PURPOSE = "pages"


def declare(commands) -> None:
    command = add_command(commands, "record", "write versions and config as a page of the report", _record)
    command.add_argument("--settings", required=True, metavar="JSON", help="the whole config")
    add_output(command, "HTML")
    command = add_command(
        commands, "publish", "gather figures, verdicts, summaries and costs in one folder", _publish
    )
    command.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")
    command.add_argument(
        "--output", required=True, type=Path, help="folder to fill; what was published there before is replaced"
    )
    command.add_argument("--readme", type=Path, metavar="FILE", help="page whose part on the results is made anew")


def _record(options) -> int:
    import json

    from cbo_pipeline.pages import settings
    from cbo_pipeline.results.versions import versions

    try:
        config = json.loads(options.settings)
    except (ValueError, RecursionError):
        words = "--settings: not valid JSON; the workflow gives the whole config"
        raise ConfigError(words, code="not-json", key="--settings") from None
    check_output(options, "settings")
    settings.write_record(config, versions(), options.output)
    return 0


def _publish(options) -> int:
    from cbo_pipeline.pages import publish

    made = publish.publish(options.results, options.output, options.readme)
    size = sum(path.stat().st_size for path in made) / 1e6
    streams.tell(
        f"{len(made)} files, {size:.1f} MB, in {options.output}" + (f"; {options.readme}" if options.readme else "")
    )
    return 0
