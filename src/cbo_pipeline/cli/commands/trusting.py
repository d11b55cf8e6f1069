"""Commands that say what results can be trusted: ``verify`` and ``adopt``."""

from pathlib import Path

from cbo_pipeline.cli import streams
from cbo_pipeline.cli.commands.options import add_command, add_config, count

PURPOSE = "trust in results"


def declare(commands) -> None:
    what = "say for every file of results whether code, settings and versions still fit it"
    command = add_command(commands, "verify", what, _verify)
    command.add_argument(
        "folder", nargs="?", type=Path, default=Path("results"), help="the folder (default: results)"
    )
    command.add_argument("--all", action="store_true", help="list all files, not only those that do not fit")
    add_config(command)
    what = "remake one run of each curve with the present code, and accept the code where all numbers are the same"
    command = add_command(commands, "adopt", what, _adopt)
    command.add_argument(
        "folder", nargs="?", type=Path, default=Path("results"), help="the folder (default: results)"
    )
    command.add_argument("--epochs", type=count, metavar="E", help="compare the first epochs only (default: all)")


def _verify(options) -> int:
    from cbo_pipeline.config import load_config
    from cbo_pipeline.results import ledger, verify

    config, readings = load_config(*options.config), {}
    if (options.folder / ledger.READINGS).is_dir():
        from cbo_pipeline.claims.reading_plan import ReadingPlan

        readings = ReadingPlan.of(options.config).settings()
    rows = verify.verify(options.folder, config, readings)
    streams.tell("\n".join(verify.lines(rows, options.all)))
    return 0 if all(row.fits for row in rows) else 1


def _adopt(options) -> int:
    from cbo_pipeline.results import adopt

    refused = 0
    for outcome in adopt.adopt(options.folder, options.epochs):
        refused += not outcome.adopted
        streams.tell(f"{'adopted' if outcome.adopted else 'refused'}  {outcome.curve}: {outcome.words}")
    return 1 if refused else 0
