"""``predict``: what a run on a table says about new rows."""

from pathlib import Path

from cbo_pipeline.cli import streams
from cbo_pipeline.cli.commands.options import add_command, add_output, check_output

PURPOSE = "by hand"


def declare(commands) -> None:
    what = "apply the network of a run on a table to new rows"
    command = add_command(commands, "predict", what, _predict)
    command.add_argument("run", type=Path, help="a run on a table (.nc)")
    command.add_argument(
        "--data", required=True, metavar="FILE", help="new rows (.csv, .npz, .nc) with the same inputs"
    )
    add_output(command, ".csv")


def _predict(options) -> int:
    from cbo_pipeline.errors import FileRefused, UserError
    from cbo_pipeline.results import predictions, runs

    check_output(options, "predictions", [options.run, Path(options.data)])
    try:
        table = predictions.columns(runs.read(options.run), options.data)
    except UserError as error:
        if error.file:
            raise
        raise FileRefused(f"{options.run}: {error}", code=error.code, key=error.key, file=str(options.run)) from None
    predictions.write(table, options.output)
    rows = len(next(iter(table.values())))
    streams.say(f"{rows} rows of {', '.join(table)}; written to {options.output}")
    return 0
