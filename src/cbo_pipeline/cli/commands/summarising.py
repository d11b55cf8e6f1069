"""Stages of the workflow from runs to figures: ``summarise``, ``join``, ``figure``, ``animate``."""

from pathlib import Path

from cbo_pipeline.cli import outputs
from cbo_pipeline.cli.commands.options import add_command, add_output, add_outputs, check_output
from cbo_pipeline.errors import UserError

PURPOSE = "stages of the workflow"


def declare(commands) -> None:
    command = add_command(
        commands, "summarise", "gather the runs of one curve: one variant at one M and N", _summarise
    )
    command.add_argument("runs", nargs="*", type=Path, help="runs that differ in their seed alone")
    command.add_argument(
        "--seeds",
        metavar="LIST",
        help="in place of the runs, where there are too many for a command: the seeds, such as 0-99,120, of FOLDER",
    )
    command.add_argument("--folder", type=Path, metavar="FOLDER", help="with --seeds: where the runs are")
    command.add_argument("--sizes", metavar="M_N", help="with --seeds: the sizes in their names, such as M100_N200")
    add_output(command, "NetCDF")
    command = add_command(commands, "join", "join the curves of one experiment into one summary", _join)
    command.add_argument("summaries", nargs="+", type=Path, help="summaries of single curves")
    add_output(command, "NetCDF")
    command = add_command(commands, "figure", "draw one figure", _figure)
    command.add_argument("label", help="the figure's label, such as sine_training")
    command.add_argument("summaries", nargs="*", type=Path, help="summaries of the curves that it shows")
    command.add_argument(
        "--costs", nargs="*", default=[], type=Path, help="costs of these curves, where it shows them"
    )
    command.add_argument("--checks", nargs="*", default=[], type=Path, help="checks, where it shows them")
    command.add_argument(
        "--readings", type=Path, metavar="FILE", help="readings.json, for the figures of the readings"
    )
    add_outputs(command, "files to write (.pdf, .png, .svg)")
    command = add_command(commands, "animate", "animate the ensemble that gathers around the sine", _animate)
    command.add_argument("summary", type=Path, help="the summary of the experiment gathering")
    add_output(command, "GIF")


def _summarise(options) -> int:
    from cbo_pipeline.config.names import seeds_of
    from cbo_pipeline.results import netcdf, summaries

    by_seed = (options.seeds, options.folder, options.sizes)
    if bool(options.runs) == (None not in by_seed) or (options.runs and any(by_seed)):
        raise UserError(
            "summarise: name the runs, or give --seeds, --folder and --sizes", code="which-runs", key="runs"
        )
    paths = options.runs or [options.folder / f"{options.sizes}_seed{s}.nc" for s in seeds_of(options.seeds)]
    check_output(options, "summary", paths)
    netcdf.write(summaries.summarise_curve(paths), options.output)
    return 0


def _join(options) -> int:
    from cbo_pipeline.results import netcdf, summaries

    check_output(options, "summary", options.summaries)
    found = [summaries.read(path) for path in options.summaries]
    summaries.refuse_mixture(options.summaries, found)
    netcdf.write(summaries.join(found), options.output)
    return 0


def _figure(options) -> int:
    from cbo_pipeline import figures

    figures.find(options.label)
    written = [outputs.Output("--output", path, "figure") for path in options.output]
    inputs = [*options.summaries, *options.costs, *options.checks, *filter(None, [options.readings])]
    outputs.check(written, inputs, options.force)
    figures.check_formats(options.output)
    if options.readings:
        figures.draw_readings(options.label, options.readings, options.output)
    else:
        figures.draw(options.label, options.summaries, options.output, options.costs, options.checks)
    return 0


def _animate(options) -> int:
    from cbo_pipeline.figures import animation
    from cbo_pipeline.results import summaries

    check_output(options, "figure", [options.summary])
    data = summaries.read(options.summary)
    animation.gathering({data.attrs["experiment"]: data}, options.output)
    return 0
