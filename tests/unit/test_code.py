"""What the digest of the code follows, and what it does not."""

import ast
import re
import shutil

import pytest

from cbo_pipeline import methods, problems
from cbo_pipeline.results import code, contract


@pytest.fixture
def edit(package):
    """What replaces a text in a file of the copied package; the file is as before afterwards."""
    before = {}

    def change(path: str, old: str, new: str) -> None:
        text = before[package / path] = (package / path).read_text(encoding="utf-8")
        assert re.search(old, text), f"{path} has no {old}"
        (package / path).write_text(re.sub(old, new, text, count=1), encoding="utf-8")

    yield change
    for path, text in before.items():
        path.write_text(text, encoding="utf-8")


def digests() -> dict[str, str]:
    return {
        "cbo": code.run_digest("cbo", "sine"),
        "adam": code.run_digest("adam", "sine"),
        "ot": code.run_digest("ot_cbo", "square"),
        "mnist": code.run_digest("cbo", "mnist"),
        "summary": code.stage_digest("results.summaries"),
        "figure": code.stage_digest("figures.sine"),
        "claims": code.stage_digest("claims"),
    }


def changed(before: dict[str, str]) -> set[str]:
    after = digests()
    return {name for name in before if before[name] != after[name]}


@pytest.mark.parametrize(
    ("path", "old", "new", "expected"),
    [
        ("methods/cbo.py", r"\Z", "\nextra = 1\n", {"cbo", "mnist"}),
        ("methods/_weighted.py", r"\Z", "\nextra = 1\n", {"cbo", "ot", "mnist"}),
        ("methods/adam.py", r"\Z", "\nextra = 1\n", {"adam"}),
        ("methods/ot_cbo.py", r"\Z", "\nextra = 1\n", {"ot"}),
        ("numerics/kernels/ties.py", r"TIGHT = 1e-12", "TIGHT = 1e-11", {"ot"}),
        ("numerics/kernels/noise.py", r"\Z", "\nextra = 1\n", {"cbo", "adam", "ot", "mnist"}),
        ("problems/mnist.py", r"\Z", "\nextra = 1\n", {"mnist"}),
        ("training/loop.py", r"\Z", "\nextra = 1\n", {"cbo", "adam", "ot", "mnist"}),
        ("figures/sine.py", r"\Z", "\nextra = 1\n", {"figure"}),
        ("figures/style.py", r"\Z", "\nextra = 1\n", {"figure"}),
        ("claims/sine.py", r"\Z", "\nextra = 1\n", {"claims"}),
        ("results/netcdf.py", r"\Z", "\nextra = 1\n", {"summary"}),
        ("results/contract.py", r"\Z", "\nextra = 1\n", {"summary"}),
        ("config/resolving.py", r"\Z", "\nextra = 1\n", set()),
        ("training/checkpoint.py", r"\Z", "\nextra = 1\n", set()),
        ("training/cost.py", r"\Z", "\nextra = 1\n", set()),
        ("cli/main.py", r"\Z", "\nextra = 1\n", set()),
        ("errors.py", r"\Z", "\nextra = 1\n", set()),
        ("files.py", r"\Z", "\nextra = 1\n", set()),
    ],
)
def test_an_edit_changes_what_depends_on_it_and_nothing_else(edit, path, old, new, expected):
    before = digests()
    edit(path, old, new)
    runs, stages = {"cbo", "adam", "ot", "mnist"}, {"summary", "figure", "claims"}
    assert changed(before) & runs == expected & runs
    assert expected & stages <= changed(before)
    if not expected & runs and not path.startswith("results"):
        assert changed(before) & stages == expected & stages


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r'\A"""', '"""Other words. '),  # the docstring of the module
        (r"\n\n\n", "\n\n\n\n# a comment\n\n\n"),
        (r'\n    """', '\n    """Other words. '),  # one of a class or function
    ],
)
@pytest.mark.parametrize(
    "path", ["methods/cbo.py", "problems/sine.py", "numerics/kernels/piecewise.py", "training/loop.py"]
)
def test_comments_and_docstrings_do_not_count(edit, path, old, new):
    before = digests()
    edit(path, old, new)
    assert changed(before) == set()


SAME = [
    ("raise ValueError(f'bad {x}')", "raise ValueError('worse')"),
    ("warnings.warn('slow', stacklevel=2)", "warnings.warn(f'very slow {x}', stacklevel=2)"),
    ("x = field(default=1, metadata={'schema': {'description': 'one'}})", "x = field(default=1)"),
    ("class A:\n    def check(cls, s):\n        return 'N', 'too few'\n    x = 1", "class A:\n    x = 1"),
    ("def f():\n    'Doc.'\n    return 1", "def f():\n    return (1)"),
    ("f(1,\n  2)", "f(1, 2)"),
    ("x = 'a' 'b'", "x = 'ab'"),
]
OTHER = [
    ("raise ValueError('bad')", "raise TypeError('bad')"),
    ("x = 'relu'", "x = 'tanh'"),
    ("x = field(default=1)", "x = field(default=2)"),
    ("x = 1", "x = 1.0"),
    ("x = 1", "x = True"),
    ("x = -0.0", "x = 0.0"),
    ("def f():\n    return a + b", "def f():\n    return b + a"),
    ("def f():\n    pass\n    'words'\n    return 1", "def f():\n    return 1"),
    ("x = None", "x: int = None"),
    ("f(a=1)", "f(b=1)"),
    ("if x:\n    y()", "while x:\n    y()"),
]


def canonical(source: str) -> str:
    return code.canonical(ast.parse(source))


@pytest.mark.parametrize(("one", "other"), SAME)
def test_words_do_not_count(one, other):
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_everything_else_counts(one, other):
    assert canonical(one) != canonical(other)


def test_the_text_of_a_tree_can_be_told_apart_wherever_python_can():
    """Every constant and name of a module is in its text."""
    source = (code.ROOT / "numerics" / "consensus.py").read_text(encoding="utf-8")
    text = canonical(source)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Name):
            assert f"str:'{node.id}'" in text
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            assert repr(node.value) in text


def test_every_method_and_problem_has_a_digest():
    found = {code.run_digest(method, "sine") for method in methods.names()}
    assert len(found) == len(methods.names())
    assert len({code.run_digest("cbo", problem) for problem in problems.names()}) == len(problems.names())


def test_the_contract_counts(monkeypatch):
    before = digests()
    monkeypatch.setattr(code, "CONTRACT", contract.CONTRACT + 1)
    assert changed(before) == set(before)


def test_plugins_are_followed_by_their_files(tmp_path, monkeypatch):
    """A method in a folder of one's own, its helpers beside it, and what it takes from the package."""
    (tmp_path / "mine.py").write_text(
        "from cbo_pipeline.methods.cbo import CBO\nimport helper\nfrom . import sibling\n"
    )
    (tmp_path / "helper.py").write_text("import numpy\nx = 1\n")
    (tmp_path / "sibling.py").write_text("y = 1\n")
    monkeypatch.setattr(methods, "find", lambda name: type)
    monkeypatch.setattr(code.inspect, "getsourcefile", lambda cls: str(tmp_path / "mine.py"))
    found = code.modules(code._root("methods", "mine"), floors=code.OF_RUNS)
    assert {"plugin mine", "plugin helper", "plugin sibling", "methods.cbo", "numerics.consensus"} <= set(found)
    before = code.run_digest("mine", "sine")
    (tmp_path / "helper.py").write_text("import numpy\nx = 2  # another\n")
    assert code.run_digest("mine", "sine") != before
    moved = shutil.copytree(tmp_path, tmp_path.parent / "moved")
    (tmp_path / "helper.py").write_text("import numpy\nx = 1\n")
    (moved / "helper.py").write_text("import numpy\nx = 1\n")
    monkeypatch.setattr(code.inspect, "getsourcefile", lambda cls: str(moved / "mine.py"))
    assert code.run_digest("mine", "sine") == before


def test_the_fingerprint_of_checkpoints_follows_code_and_libraries(edit, monkeypatch):
    before = code.fingerprint("cbo", "sine")
    with monkeypatch.context() as other:
        other.setattr(code, "versions", lambda: {"numpy": "0.0"})
        assert code.fingerprint("cbo", "sine") != before
    assert code.fingerprint("cbo", "sine") == before
    edit("methods/cbo.py", r"\Z", "\nextra = 1\n")
    assert code.fingerprint("cbo", "sine") != before
