"""Commands that look at things: ``show``, ``check``, ``reference``, ``completion``."""

import sys
from pathlib import Path

from cbo_pipeline.cli import streams
from cbo_pipeline.cli.commands.options import add_command, add_config

PURPOSE = "by hand"


def declare(commands) -> None:
    what = "print a run, a summary, costs or verdicts as a short table, and a small plot"
    command = add_command(commands, "show", what, _show)
    command.add_argument("file", type=Path, help="a run or a summary (.nc), a cost or claims.json")
    add_config(add_command(commands, "check", "check a config and count its runs", _check))
    add_command(commands, "reference", "print the reference of all settings as Markdown", _reference)
    add_command(commands, "completion", 'completion for bash: eval "$(cbo-pipeline completion)"', _completion)


def _show(options) -> int:
    from cbo_pipeline.pages import show

    streams.tell(show.text(options.file, streams.can_show(show.CHARACTERS, sys.stdout)))
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
