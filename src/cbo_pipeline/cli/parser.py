"""The parser of the command line: every command is declared in ``commands``, beside the function that runs it."""

import argparse
import difflib
import re

import cbo_pipeline
from cbo_pipeline.cli.commands import data, judging, looking, predicting, publishing, summarising, training, trusting
from cbo_pipeline.errors import UserError

DESCRIPTION = """\
Reproduce "Mean-Field Model for Two-Layer Neural Networks Trained with Consensus-Based Optimization".

The whole paper, or one figure of it, is made by Snakemake, in a checkout:
  snakemake --cores 8                    everything
  snakemake --cores 8 fig2               one figure
A single run, and a look at it:
  cbo-pipeline train --experiment sine --method cbo --seed 0 --output run.nc
  cbo-pipeline show run.nc
"""
MODULES = (training, predicting, looking, data, summarising, judging, publishing, trusting)


class Parser(argparse.ArgumentParser):
    """A parser that answers a mistake in one line, with what may have been meant.

    ``options`` are its own, ``commands`` the parsers of its commands by name.
    """

    def __init__(self, *arguments, **said):
        self.options: list[str] = []
        self.commands: dict[str, Parser] = {}
        super().__init__(*arguments, **said)

    def add_argument(self, *names, **said) -> argparse.Action:
        """As for every parser; the options are noted."""
        action = super().add_argument(*names, **said)
        self.options += action.option_strings
        return action

    def add_subparsers(self, **said):
        """As for every parser; the commands are noted."""
        commands = super().add_subparsers(**said)
        self.commands = commands.choices
        return commands

    def error(self, message: str):
        unknown = re.match(r"argument COMMAND: invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if unknown:
            close = difflib.get_close_matches(unknown[1], re.findall(r"[a-z-]+", unknown[2]), 1)
            message = f"no command {unknown[1]!r}" + (f"; did you mean {close[0]}?" if close else "")
        message = message.replace("the following arguments are required: ", "missing: ")
        strange = re.match(r"unrecognized arguments: (\S+)", message)
        if strange:
            close = difflib.get_close_matches(strange[1].partition("=")[0], self._all_options(), 1, 0.7)
            message = f"unknown: {strange[1]}" + (f"; did you mean {close[0]}?" if close else "")
        option = re.search(r"(?<![\w-])--?[a-z][\w-]*", message)
        key = option[0] if option else ""
        raise UserError(f"{' '.join(message.split())} (see {self.prog} --help)", code="usage", key=key)

    def _all_options(self) -> list[str]:
        """The options of all commands."""
        return sorted({option for parser in (self, *self.commands.values()) for option in parser.options})


def build() -> Parser:
    """The parser with all commands; its help lists them by what they are for."""
    parser = Parser(
        prog="cbo-pipeline",
        usage="cbo-pipeline COMMAND [options]; cbo-pipeline COMMAND --help explains one",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {cbo_pipeline.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", prog="cbo-pipeline", help=argparse.SUPPRESS)
    groups: dict[str, list[str]] = {}
    for module in MODULES:
        before = set(commands.choices)
        module.declare(commands)
        groups.setdefault(module.PURPOSE, []).extend(n for n in commands.choices if n not in before)
    parser.epilog = "\n".join(
        line
        for purpose, names in groups.items()
        for line in (f"{purpose}:", *(f"  {name:18} {commands.choices[name].description}" for name in names), "")
    )
    return parser
