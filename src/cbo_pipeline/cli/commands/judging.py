"""Stages of the workflow that judge: ``claims``, ``readings``, and the checks ``check-...`` beside them."""

from pathlib import Path

from cbo_pipeline.cli import outputs, streams
from cbo_pipeline.cli.commands.options import add_command, add_force, add_output, check_output
from cbo_pipeline.errors import FileRefused

PURPOSE = "stages of the workflow"


def declare(commands) -> None:
    add_output(
        add_command(commands, "check-barycentres", "check Proposition 2 by numbers", _check_barycentres), "JSON"
    )
    what = "count how often the rule of evidence errs where the truth is known"
    add_output(add_command(commands, "check-rule", what, _check_rule), "JSON")
    what = "measure how far the particles of runs differ, parameter by parameter"
    command = add_command(commands, "check-spread", what, _check_spread)
    command.add_argument("runs", nargs="+", type=Path, help="runs that kept whole ensembles (.nc)")
    add_output(command, "JSON")
    what = "measure how an ensemble spreads in directions that the risk does not see"
    add_output(add_command(commands, "check-unseen", what, _check_unseen), "JSON")
    what = "judge the claims of the paper by summaries, costs and checks"
    command = add_command(commands, "claims", what, _claims)
    command.add_argument("evidence", nargs="+", type=Path, help="summaries (.nc), costs and checks (.json)")
    for name, content in (
        ("json", "the verdicts as data"),
        ("markdown", "the verdicts as a table"),
        ("html", "the verdicts as a page"),
        ("speed", "crossing, epochs to given risks and costs as data"),
    ):
        command.add_argument(f"--{name}", type=outputs.file_name, metavar="FILE", help=content)
    add_force(command)
    command.add_argument("--readings", type=Path, metavar="FILE", help="what `readings` found, for the last column")
    what = "judge the claims under other readings of the paper"
    command = add_command(commands, "readings", what, _readings)
    command.add_argument("--results", type=Path, default=Path("results"), help="folder of results (default: results)")
    command.add_argument("--config", action="append", default=[], metavar="FILE", help="laid over config.yaml")
    command.add_argument("--file", type=Path, metavar="FILE", help="the readings (default: workflow/readings.yaml)")
    command.add_argument("--json", type=outputs.file_name, metavar="FILE", help="the verdicts as data")
    command.add_argument("--markdown", type=outputs.file_name, metavar="FILE", help="the verdicts as tables")
    add_force(command)


def _check_barycentres(options) -> int:
    from cbo_pipeline.claims import barycentres
    from cbo_pipeline.results import checks

    check_output(options, "check")
    checks.write("barycentres", barycentres.check_barycentres(), options.output)
    return 0


def _check_rule(options) -> int:
    from cbo_pipeline.claims import rule_errors
    from cbo_pipeline.results import checks

    check_output(options, "check")
    checks.write("rule_errors", rule_errors.rule_errors(), options.output)
    return 0


def _check_spread(options) -> int:
    from cbo_pipeline.claims import spread
    from cbo_pipeline.results import checks, runs

    check_output(options, "check", options.runs)
    for path in options.runs:
        if "kept_epoch" not in runs.read(path).dims:
            words = f"{path}: keeps no ensembles; train it again with `keep_ensembles`, a list of epochs"
            raise FileRefused(words, code="missing", key="keep_ensembles", file=str(path))
    checks.write("spread", spread.check_spread(options.runs), options.output)
    return 0


def _check_unseen(options) -> int:
    from cbo_pipeline.claims import unseen
    from cbo_pipeline.results import checks

    check_output(options, "check")
    checks.write("unseen", unseen.check_unseen(), options.output)
    return 0


def _claims(options) -> int:
    from cbo_pipeline import claims
    from cbo_pipeline.claims import files, speed
    from cbo_pipeline.pages import claims as pages
    from cbo_pipeline.results import readings

    kinds = {"json": "claims", "speed": "speed", "markdown": "verdicts", "html": "verdicts"}
    _check_outputs(options, kinds, [*options.evidence, *filter(None, [options.readings])])
    evidence = files.read(options.evidence)
    rows, measured = claims.judge_all(evidence), speed.speed(evidence)
    errors = evidence.checks.get("rule_errors")
    if options.readings:
        rows = readings.with_robustness(rows, options.readings)
    if options.json:
        pages.write_verdicts(rows, options.json)
    if options.speed:
        pages.write_speed(measured, options.speed)
    if options.markdown:
        pages.write_markdown(rows, measured, options.markdown, errors)
    if options.html:
        pages.write_html(rows, measured, options.html, errors)
    streams.say(pages.tally(rows))
    return 0


def _readings(options) -> int:
    from cbo_pipeline.claims import reading_verdicts
    from cbo_pipeline.claims.reading_plan import ReadingPlan
    from cbo_pipeline.pages import readings as pages
    from cbo_pipeline.pages.claims import plain
    from cbo_pipeline.results import readings

    kinds = {"json": "readings", "markdown": "readings"}
    _check_outputs(options, kinds, [*map(Path, options.config), *filter(None, [options.file])])
    if not (options.results / "summary").is_dir():
        words = f"{options.results}: holds no summaries; name a folder of results with --results"
        raise FileRefused(words, code="no-results", key="--results", file=str(options.results))
    found = reading_verdicts.judge_readings(ReadingPlan.of(options.config, options.file), options.results)
    if options.json:
        readings.write(plain(found), options.json)
    if options.markdown:
        pages.write_markdown(found, options.markdown)
    streams.say(pages.tally(found))
    return 0


def _check_outputs(options, kinds: dict[str, str], inputs: list[Path]) -> None:
    """Refuse the outputs of these options, by the kind of their content."""
    named = [(option, getattr(options, option), kind) for option, kind in kinds.items()]
    outputs.check([outputs.Output(f"--{o}", path, kind) for o, path, kind in named if path], inputs, options.force)
