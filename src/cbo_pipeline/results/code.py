"""The digest of the code that decides a result.

Digests are of syntax trees: comments, docstrings, layout and the words of messages do not count. The modules are
found by following imports from those that a stage runs, but only into the floors that can decide its result. For a
run these are the numerics, the problems, the methods and the training loop. The floors that read a config, show
progress, judge, draw or store are out, whatever they import; how a run is stored is held by the number of the
contract.

The same sources have the same digest under every version of Python.
"""

import ast
import functools
import hashlib
import importlib
import inspect
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from cbo_pipeline.results.contract import CONTRACT
from cbo_pipeline.results.versions import versions

PACKAGE = "cbo_pipeline"
ROOT = Path(__file__).parents[1]
# Floors into which imports are followed, by what is decided.
OF_RUNS = ("numerics", "problems", "methods", "training")
OF_STAGES = (*OF_RUNS, "results", "claims", "figures", "pages")
# Methods of problems and methods that are asked before a run starts, and by nobody during one: they make messages.
ASKED_BEFORE = ("check", "scratch_bytes")
SPEAKING = ("warn", "print", "warning", "info", "debug")  # functions whose arguments are words for the user
# Checks that train: what they run that no import shows.
CHECKED = {"barycentres": ("methods.ot_cbo", "problems.square")}
LENGTH = 20  # hexadecimal digits of a digest
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NOT_SHOWN = ("ctx", "kind", "type_comment")
EMPTY_TEXT = "Constant(value=str:'')"
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields that hold statements


def run_digest(method: str, problem: str) -> str:
    """The digest of the code that decides the runs of a method on a problem, be they in the package or plugins."""
    roots = ("training.loop", "results.runs", _root("methods", method), _root("problems", problem))
    return digest(*roots, floors=OF_RUNS)


def fingerprint(method: str, problem: str) -> str:
    """What a checkpoint must have in common with the run that continues it: the code and the libraries."""
    return json.dumps({"code": run_digest(method, problem), "versions": versions()}, sort_keys=True)


def stage_digest(*modules: str) -> str:
    """The digest of the code of a stage after the runs, such as ``stage_digest("figures.sine")``."""
    return digest(*modules, floors=OF_STAGES)


def cost_digest(method: str, problem: str) -> str:
    """The digest of the code whose cost is measured, and of the measurement."""
    return digest("training.cost", _root("methods", method), _root("problems", problem), floors=OF_RUNS)


def check_digest(name: str) -> str:
    """The digest of the code of a numerical check, and of the training that it does itself."""
    return stage_digest(f"claims.{name}", *CHECKED.get(name, ()))


def summary_digest(*problems: str) -> str:
    """The digest of the code that summarises runs of these problems; what a problem shows of a run counts too."""
    found = modules("results.summaries", floors=("results",))
    for problem in problems:
        found |= modules(_root("problems", problem), floors=("numerics", "problems"))
    return _digest_of(found)


def digest(*roots: str | Path, floors: Iterable[str]) -> str:
    """The digest of modules (such as "methods.cbo", or files outside the package) and of what they import."""
    return _digest_of(modules(*roots, floors=floors))


def _digest_of(found: dict[str, Path]) -> str:
    content = {name: _canonical(path) for name, path in found.items()}
    text = json.dumps({"contract": CONTRACT, "modules": content}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]


def modules(*roots: str | Path, floors: Iterable[str]) -> dict[str, Path]:
    """The modules that ``digest`` covers, by name, with their files. Names of plugins are those of their files."""
    floors = tuple(floors)
    found: dict[str, Path] = {}
    waiting = list(roots)
    while waiting:
        name, path = _located(waiting.pop())
        if name in found:
            continue
        found[name] = path
        for imported in _imports(path):
            inside = isinstance(imported, Path) or imported.split(".")[0] in floors
            if inside and _located(imported)[0] not in found:
                waiting.append(imported)
    return found


def _root(floor: str, name: str) -> str | Path:
    """A method or problem as a module of the package, or the file of the plugin that holds it."""
    if _file_of(f"{floor}.{name}"):
        return f"{floor}.{name}"
    package = importlib.import_module(f"{PACKAGE}.{floor}")
    return Path(inspect.getsourcefile(package.find(name))).resolve()


def _located(module: str | Path) -> tuple[str, Path]:
    """The name and the file of a module."""
    if isinstance(module, Path):
        inside = module.is_relative_to(ROOT)
        name = ".".join(module.relative_to(ROOT).with_suffix("").parts) if inside else f"plugin {module.stem}"
        return name, module
    path = _file_of(module)
    if path is None:
        raise LookupError(f"no module {PACKAGE}.{module}")
    return module, path


def _file_of(module: str) -> Path | None:
    base = ROOT.joinpath(*module.split("."))
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


def _imports(path: Path) -> list[str | Path]:
    """What a file imports from the package, as names, and from its own folder if that is outside, as files."""
    return _imports_of(path, _state(path))


@functools.cache
def _imports_of(path: Path, state: tuple[int, int]) -> list[str | Path]:
    names: list[str | Path] = []
    for node in _statements(_tree(path, state)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names += _resolved(alias.name, (), 0, path)
        elif isinstance(node, ast.ImportFrom):
            names += _resolved(node.module or "", [alias.name for alias in node.names], node.level, path)
    return names


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node; what stands inside an expression is none."""
    for field in BLOCKS:
        for inner in getattr(node, field, ()):
            yield inner
            yield from _statements(inner)


def _resolved(module: str, names: Iterable[str], level: int, path: Path) -> Iterator[str | Path]:
    """The modules behind ``from module import names``. A package counts only where more than modules is taken from
    it.
    """
    names = tuple(names)
    if level:
        folder = path.parents[level - 1]
        if not folder.is_relative_to(ROOT):
            yield from _beside(folder, [module] if module else names)
            return
        module = ".".join([PACKAGE, *folder.relative_to(ROOT).parts, *([module] if module else [])])
    if module != PACKAGE and not module.startswith(f"{PACKAGE}."):
        if not path.is_relative_to(ROOT):
            yield from _beside(path.parent, [module])
        return
    base = module.removeprefix(PACKAGE).removeprefix(".")
    parts = [f"{base}.{name}".removeprefix(".") for name in names]
    inner = [part for part in parts if _file_of(part)]
    yield from inner
    if base and _file_of(base) and len(inner) < max(1, len(parts)):
        yield base


def _beside(folder: Path, names: Iterable[str]) -> Iterator[Path]:
    for name in names:
        path = folder.joinpath(*name.split(".")).with_suffix(".py")
        if path.is_file():
            yield path.resolve()


def _state(path: Path) -> tuple[int, int]:
    """What changes when a file is edited."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


@functools.cache
def _tree(path: Path, state: tuple[int, int]) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _canonical(path: Path) -> str:
    return _canonical_of(path, _state(path))


@functools.cache
def _canonical_of(path: Path, state: tuple[int, int]) -> str:
    """The digest of what a file says to the interpreter."""
    return hashlib.sha256(canonical(_tree(path, state)).encode()).hexdigest()


def canonical(tree: ast.Module) -> str:
    """The syntax tree of a module as text, without docstrings and the words of messages.

    >>> canonical(ast.parse("x = 1  # one")) == canonical(ast.parse('"Doc."\\n\\nx = (1)'))
    True
    >>> canonical(ast.parse("x = 1")) == canonical(ast.parse("x = 2"))
    False
    """
    return _text(tree)


def _text(node, wordless: bool = False) -> str:
    """A tree as text that does not depend on the version of Python: empty fields and places are left out.

    ``wordless``: every text is shown as empty.
    """
    if isinstance(node, list):
        return f"[{','.join([_text(part, wordless) for part in node])}]"
    if not isinstance(node, ast.AST):
        return f"{type(node).__name__}:{node!a}"
    kind, kept = type(node), {}
    if wordless and (kind is ast.JoinedStr or _is_text(node)):
        return EMPTY_TEXT
    if not wordless:
        wordless = kind is ast.Raise or (kind is ast.Call and _called(node) in SPEAKING)
        if kind in DOCUMENTED:
            kept["body"] = _without_words(node)
        elif kind is ast.Call and _called(node) == "field":
            # The schema of a setting describes it; its value is among the settings.
            kept["keywords"] = [keyword for keyword in node.keywords if keyword.arg != "metadata"]
    shown = []
    for name in node._fields:
        value = kept.get(name) if name in kept else getattr(node, name, None)
        if value is not None and value != [] and name not in NOT_SHOWN:
            shown.append(f"{name}={_text(value, wordless)}")
    return f"{kind.__name__}({','.join(shown)})"


def _without_words(node) -> list[ast.stmt]:
    """The body of a module, a class or a function without its docstring and what only makes messages."""
    body = node.body
    if body and isinstance(body[0], ast.Expr) and _is_text(body[0].value):
        body = body[1:] or [ast.Pass()]
    if isinstance(node, ast.ClassDef):
        body = [part for part in body if getattr(part, "name", None) not in ASKED_BEFORE] or [ast.Pass()]
    return body


def _called(node: ast.Call) -> str | None:
    """The name of the function or method that is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
