"""Commands that look at things: ``show``, ``plot``, ``check``, ``reference``, ``completion``."""

import sys
from pathlib import Path

from cbo_pipeline.cli import outputs, streams
from cbo_pipeline.cli.commands.options import add_command, add_config, add_outputs
from cbo_pipeline.errors import FileRefused, UserError

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
    add_outputs(command, "files to write (.pdf, .png, .svg)")
    command = add_command(commands, "check", "check a config and count its runs", _check)
    add_config(command)
    what = "count the runs of the other readings too, with hours where the base's own runs were timed"
    command.add_argument("--readings", action="store_true", help=what)
    command.add_argument("--results", type=Path, help="where those are (default: results)")
    what = "print instead the summaries of other readings that a publication lacks, as targets for snakemake"
    command.add_argument("--lacking", type=Path, metavar="FOLDER", help=what)
    add_command(commands, "reference", "print the reference of all settings as Markdown", _reference)
    add_command(commands, "completion", 'completion for bash and zsh: eval "$(cbo-pipeline completion)"', _completion)


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

    if options.results and not options.readings:
        raise UserError("--results needs --readings beside it", code="missing", key="--results")
    config = load_config(*options.config)
    check_config(config)
    if options.lacking:
        streams.tell("".join(f"{target}\n" for target in _lacking(options)), end="")
        return 0
    counted = f"{sum(1 for _ in runs(config))} runs, every setting in bounds"
    if options.readings:
        counted += f"\n\n{_plan_of_readings(options)}"
    streams.tell(counted)
    return 0


def _plan_of_readings(options) -> str:
    from cbo_pipeline.pages import readings
    from cbo_pipeline.results import job_times

    if options.results:
        _require_folder(options.results, "--results")
    plan = _checked_plan(options)
    timed = job_times.read((options.results or Path("results")) / "benchmarks")
    return readings.plan_table(plan, job_times.typical_seconds(timed))


def _lacking(options) -> list[str]:
    """The summaries that readings need and a publication does not hold, as the workflow names them."""
    _require_folder(options.lacking, "--lacking")
    wanted = map(Path, _checked_plan(options).summary_files())
    return [str(path) for path in wanted if not (options.lacking / path.relative_to("results")).is_file()]


def _checked_plan(options):
    from cbo_pipeline.claims.reading_plan import ReadingPlan

    plan = ReadingPlan.of(options.config)
    plan.check()
    return plan


def _require_folder(folder: Path, option: str) -> None:
    if not folder.is_dir():
        words = f"{folder}: no such folder; name a folder of results with {option}"
        raise FileRefused(words, code="no-results", key=option, file=str(folder))


def _reference(options) -> int:
    from cbo_pipeline.pages import reference

    streams.tell(reference.markdown(), end="")
    return 0


def _completion(options) -> int:
    from cbo_pipeline.cli import completion, parser

    streams.tell(completion.script(parser.build()))
    return 0
