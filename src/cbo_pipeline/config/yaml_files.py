"""YAML without its traps: every mistake is one line with file, line and column.

Refused, where PyYAML would accept it or end in a traceback: a key that appears twice in a mapping (the first would be
lost), 010 and 1:30 (read as 8 and 90), an anchor that contains itself, and what no person writes (thousands of
nested brackets, a few lines of anchors that unfold into millions of values).
"""

import functools
import re
from pathlib import Path
from typing import Any

from cbo_pipeline.config import messages
from cbo_pipeline.errors import ConfigError

DEEPEST = 30  # mappings and lists within each other
LONGEST = 10 << 20  # characters of a file
LARGEST = 200_000  # values of a file, once its anchors are unfolded


def read(path: str | Path) -> dict:
    """The mapping that a YAML file holds."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LONGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"{path}: cannot be read ({reason})", code="unreadable", file=str(path)) from None
    if len(content) > LONGEST:
        words = f"{path}: more than {LONGEST >> 20} MB; that is not a config"
        raise ConfigError(words, code="unreadable", file=str(path))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        words = f"{path}, line {line}: not text in UTF-8 ({error.reason})"
        raise ConfigError(words, code="not-yaml", file=str(path)) from None
    found = parse(text, str(path))
    if not isinstance(found, dict):
        words = f"{path}: a config is a mapping of keys to values, not {messages.kind_of(found)}"
        raise ConfigError(words, code="wrong-type", file=str(path))
    return found


def parse(text: str, name: str, places: bool = True) -> Any:
    """The value that a YAML text holds; ``name`` is the file in complaints, which say where they find fault."""
    import yaml

    loader = None
    try:
        loader = _loader()(text)
        return loader.get_single_data()
    except _Refused as error:
        raise ConfigError(
            _line(name, places and error.mark, error.words), code=error.code, key=error.key, file=name
        ) from None
    except yaml.MarkedYAMLError as error:
        words = f"not valid YAML ({messages.one_line(error.problem or error.context)})"
        raise ConfigError(_line(name, places and error.problem_mark, words), code="not-yaml", file=name) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow; there is no mark
        reason = messages.one_line(getattr(error, "reason", None) or error)
        raise ConfigError(f"{name}: not valid YAML ({reason})", code="not-yaml", file=name) from None
    except UnicodeEncodeError:  # bytes of a command line that are not UTF-8
        raise ConfigError(f"{name}: not valid YAML (not UTF-8)", code="not-yaml", file=name) from None
    finally:
        if loader is not None:
            loader.dispose()


def _line(name: str, mark, words: str) -> str:
    where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    return f"{name}{where}: {words}"


class _Refused(Exception):
    """What our loader refuses beyond YAML's own rules."""

    def __init__(self, mark, words: str, code: str, key: str = ""):
        super().__init__(words)
        self.mark, self.words, self.code, self.key = mark, words, code, key


_OCTAL = re.compile(r"[-+]?0[0-9_]+")
_SIXTIES = re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?")


@functools.cache
def _loader() -> type:
    import yaml
    from yaml import composer, constructor, parser, reader, resolver, scanner

    # libyaml scans and parses much faster, but without it things work too. Nodes are composed here in any case:
    # libyaml's own way to compose them overflows the stack on thousands of brackets.
    if yaml.__with_libyaml__:
        from yaml.cyaml import CParser

        sources = (CParser,)
    else:
        sources = (reader.Reader, scanner.Scanner, parser.Parser)

    class StrictLoader(composer.Composer, *sources, constructor.SafeConstructor, resolver.Resolver):
        """PyYAML's safe loader, stricter; dates are text."""

        yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's own class attribute)
            first: [(tag, pattern) for tag, pattern in rules if tag != "tag:yaml.org,2002:timestamp"]
            for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def __init__(self, text: str):
            self._open: list = []  # the anchors of the mappings and lists around the node that is being read
            self._sizes: dict[int, int] = {}  # values of a node, its anchors unfolded
            composer.Composer.__init__(self)
            sources[0].__init__(self, text)
            for source in sources[1:]:
                source.__init__(self)
            constructor.SafeConstructor.__init__(self)
            resolver.Resolver.__init__(self)

        def compose_node(self, parent, index):
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent) and event.anchor in self._open:
                words = f"the anchor *{event.anchor} refers to itself"
                raise _Refused(event.start_mark, words, "loop")
            if len(self._open) > DEEPEST:
                raise _Refused(event.start_mark, "nested too deeply", "too-deep")
            self._open.append(getattr(event, "anchor", None))
            node = super().compose_node(parent, index)
            self._open.pop()
            self._sizes.setdefault(id(node), self._size(node))
            if self._sizes[id(node)] > LARGEST:
                raise _Refused(node.start_mark, f"more than {LARGEST} values, anchors unfolded", "too-large")
            return node

        def _size(self, node) -> int:
            if isinstance(node, yaml.ScalarNode):
                return 1
            items = node.value if isinstance(node, yaml.SequenceNode) else [n for pair in node.value for n in pair]
            return 1 + sum(self._sizes[id(item)] for item in items)

        def construct_object(self, node, deep=False):
            try:
                return super().construct_object(node, deep)
            except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
                text = messages.one_line(node.value if isinstance(node, yaml.ScalarNode) else node.tag, 40)
                kind = node.tag.rpartition(":")[2]
                raise _Refused(node.start_mark, f"{text!r} is not a valid {kind} of YAML", "not-yaml") from None

        def construct_scalar(self, node):
            plain = isinstance(node, yaml.ScalarNode) and node.style not in ("'", '"', "|", ">")
            if plain and node.tag in ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float"):
                if _OCTAL.fullmatch(node.value):
                    words = f"YAML reads {node.value} as an octal number; write it without the leading zero"
                    raise _Refused(node.start_mark, words, "odd-number")
                if _SIXTIES.fullmatch(node.value):
                    words = f"YAML reads {node.value} in base sixty; write one number, or quotes around a text"
                    raise _Refused(node.start_mark, words, "odd-number")
            return super().construct_scalar(node)

        def construct_mapping(self, node, deep=False):
            if isinstance(node, yaml.MappingNode):
                self._refuse_twice(node)
            return super().construct_mapping(node, deep)

        def flatten_mapping(self, node):
            self._refuse_twice(node)
            super().flatten_mapping(node)

        def _refuse_twice(self, node) -> None:
            if getattr(node, "looked_at", False):  # merging (<<) puts the keys of the other mapping into this one
                return
            node.looked_at = True
            first: dict[tuple[str, str], Any] = {}
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                name = (key.tag, key.value)
                if name in first:
                    line = first[name].line + 1
                    words = f"the key {key.value} appears twice in one mapping (first in line {line})"
                    raise _Refused(key.start_mark, words, "duplicate-key", key.value)
                first[name] = key.start_mark

    return StrictLoader
