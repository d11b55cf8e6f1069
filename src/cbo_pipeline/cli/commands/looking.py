"""Commands that look at things: ``show``, ``plot``, ``check``, ``reference``, ``completion``."""

import sys
from pathlib import Path

from cbo_pipeline.cli import outputs, streams
from cbo_pipeline.cli.commands.options import add_command, add_config, add_force

PURPOSE = "by hand"


def declare(commands) -> None:
    what = "print a run, a summary, costs or verdicts as a short table, and a small plot"
    command = add_command(commands, "show", what, _show)
    command.add_argument("file", type=Path, help="a run or a summary (.nc), a cost or claims.json")
    command = add_command(commands, "plot", "compare runs in a figure: risk against epoch", _plot)
    command.add_argument("runs", nargs="+", type=Path, help="files of runs (.nc)")
    command.add_argument(
        "--series", default="risk", metavar="NAME", help="another series of theirs, such as variance"
    )
    command.add_argument(
        "--output",
        required=True,
        nargs="+",
        type=outputs.file_name,
        metavar="FILE",
        help="files to write (.pdf, .png, .svg)",
    )
    add_force(command)
    add_config(add_command(commands, "check", "check a config and count its runs", _check))
    add_command(commands, "reference", "print the reference of all settings as Markdown", _reference)
    add_command(commands, "completion", 'completion for bash: eval "$(cbo-pipeline completion)"', _completion)


def _show(options) -> int:
    from cbo_pipeline.pages import show

    streams.tell(show.text(options.file, streams.can_show(show.CHARACTERS, sys.stdout)))
    return 0


def _plot(options) -> int:
    from cbo_pipeline.figures import check_formats, comparison

    written = [outputs.Output("--output", path, "figure") for path in options.output]
    outputs.check(written, options.runs, options.force)
    check_formats(options.output)
    comparison.draw(options.runs, options.output, options.series)
    return 0


def _check(options) -> int:
    from cbo_pipeline.config import check_config, load_config, runs

    config = load_config(*options.config)
    check_config(config)
    streams.tell(f"{sum(1 for _ in runs(config))} runs, every setting in bounds")
    return 0


def _reference(options) -> int:
    from cbo_pipeline.pages import reference

    streams.tell(reference.markdown(), end="")
    return 0


def _completion(options) -> int:
    from cbo_pipeline.cli import completion, parser

    streams.tell(completion.script(parser.build()))
    return 0
