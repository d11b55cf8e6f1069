"""Completion for bash (and zsh), made from the parser, the config and the table of figures."""

from cbo_pipeline.cli.parser import Parser
from cbo_pipeline.config import load_config
from cbo_pipeline.figures import FIGURES


def script(parser: Parser) -> str:
    """A function that completes commands, options, experiments, methods and figures; files elsewhere."""
    experiments = load_config()["experiments"]
    methods = sorted({method for content in experiments.values() for method in content["methods"]})
    first = [*parser.commands, "--help", "--version"]
    options = "".join(
        f"    {name}) words='{' '.join(command.options)}' ;;\n" for name, command in parser.commands.items()
    )
    return (
        "_cbo_pipeline() {\n"
        '  local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""\n'
        '  case "$before" in\n'
        f"    --experiment) words='{' '.join(experiments)}' ;;\n"
        f"    --method) words='{' '.join(methods)}' ;;\n"
        f"    figure) words='{' '.join(FIGURES)}' ;;\n"
        "    --*) return ;;\n"
        "  esac\n"
        '  [ -n "$words" ] || case "${COMP_WORDS[1]}" in\n'
        f"{options}"
        "  esac\n"
        f"  [ \"$COMP_CWORD\" -ne 1 ] || words='{' '.join(first)}'\n"
        '  COMPREPLY=($(compgen -W "$words" -- "$current"))\n'
        "}\n"
        '[ -z "${ZSH_VERSION:-}" ] || { autoload -U +X compinit bashcompinit; compinit; bashcompinit; }\n'
        "complete -o default -F _cbo_pipeline cbo-pipeline"
    )
