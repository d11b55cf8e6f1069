"""YAML without its traps: mistakes are refused by kind, with file, line and column; nothing is lost in silence."""

import time

import pytest

from cbo_pipeline.config import yaml_files
from cbo_pipeline.errors import ConfigError

# A file, the kind of mistake, and the place.
REFUSED = {
    "a key twice": ("a: 1\nb: 2\na: 3\n", "duplicate-key", "line 3, column 1"),
    "a key twice, in braces": ("a: {x: 1, y: 2, x: 1}\n", "duplicate-key", "line 1, column 17"),
    "a key twice, deep": ("a:\n  - {b: {c: 1, c: 1}}\n", "duplicate-key", "line 2, column 16"),
    "a key twice, beside a merge": ("a: &a {x: 1}\nb: {<<: *a, x: 2, x: 3}\n", "duplicate-key", "line 2, column 19"),
    "two merges": ("a: &a {x: 1}\nb: {<<: *a, <<: *a}\n", "duplicate-key", "line 2"),
    "octal": ("M: 010\n", "odd-number", "line 1, column 4"),
    "base sixty": ("M: 1:30\n", "odd-number", "line 1, column 4"),
    "base sixty with a point": ("dt: 1:30.5\n", "odd-number", "line 1, column 5"),
    "a tag that does not fit": ("M: !!int three\n", "not-yaml", "line 1, column 4"),
    "a float that does not fit": ("M: !!float three\n", "not-yaml", "line 1, column 4"),
    "a truth value that does not fit": ("M: !!bool perhaps\n", "not-yaml", "line 1, column 4"),
    "a date that does not exist": ("M: !!timestamp 2024-13-45\n", "not-yaml", "line 1, column 4"),
    "bytes that are none": ("M: !!binary 'a'\n", "not-yaml", "line 1, column 4"),
    "an object of Python": ("M: !!python/object/apply:os.system ['true']\n", "not-yaml", "line 1, column 4"),
    "an unknown tag": ("M: !mine 3\n", "not-yaml", "line 1, column 4"),
    "more digits than Python reads": (f"M: 1{'0' * 5000}\n", "not-yaml", "line 1, column 4"),
    "thousands of brackets": ("M: " + "[" * 50_000, "too-deep", "line 1, column"),
    "thousands of braces": ("M: " + "{a: " * 50_000, "too-deep", "line 1, column"),
    "an anchor within itself": ("a: &a {b: {c: *a}}\n", "loop", "line 1, column 15"),
    "a list within itself": ("a: &a [*a]\n", "loop", "line 1, column 8"),
    "an unknown anchor": ("a: *b\n", "not-yaml", "line 1, column 4"),
    "a tab": ("a:\n\tb: 1\n", "not-yaml", "line 2, column 1"),
    "an open bracket": ("a: [1, 2\n", "not-yaml", "line 2, column 1"),
    "a list as key": ("? [1, 2]\n: 3\n", "not-yaml", "line 1, column 3"),
    "two documents": ("a: 1\n---\nb: 2\n", "not-yaml", "line 2, column 1"),
    "a merge of a number": ("a: {<<: 3}\n", "not-yaml", "line 1, column 9"),
}


@pytest.mark.parametrize(("text", "code", "place"), REFUSED.values(), ids=REFUSED)
def test_a_trap_is_refused_with_its_place(tmp_path, text, code, place):
    path = tmp_path / "own config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as refused:
        yaml_files.read(path)
    line = str(refused.value)
    assert refused.value.code == code, line
    assert refused.value.file == str(path)
    assert line.startswith(f"{path}, {place}"), line
    assert len(line.removeprefix(str(path))) < 200


def test_anchors_that_unfold_into_millions_of_values_are_refused_at_once():
    lines = ["a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 12)]
    start = time.process_time()
    with pytest.raises(ConfigError) as refused:
        yaml_files.parse("\n".join(lines), "laughs.yaml")
    assert refused.value.code == "too-large"
    assert time.process_time() - start < 2


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a: 1\nb: \xe4\n", b"a: \x00\n", b"a: \x07\n"])
def test_what_is_not_text_is_refused(tmp_path, content):
    path = tmp_path / "bytes.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        yaml_files.read(path)
    assert (refused.value.code, refused.value.file) == ("not-yaml", str(path))


@pytest.mark.parametrize("content", ["", "- a\n", "3\n", "null\n", "# only a comment\n"])
def test_a_config_is_a_mapping(tmp_path, content):
    path = tmp_path / "other.yaml"
    path.write_text(content)
    with pytest.raises(ConfigError) as refused:
        yaml_files.read(path)
    assert refused.value.code == "wrong-type"


def test_what_cannot_be_read_is_refused(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.yaml", "/dev/zero", "a\0b"):
        with pytest.raises(ConfigError) as refused:
            yaml_files.read(path)
        assert refused.value.code == "unreadable"


def test_ordinary_yaml_is_read_as_ever(tmp_path):
    path = tmp_path / "good.yaml"
    text = "a: &a {x: 1, y: 1.0e+5}\nb: {<<: *a, x: 2}\nc: 1e-3\nd: [0, 1_000, 0x1F, -3]\ne: '010'\nf: 2024-01-01\n"
    path.write_text("\ufeff" + text, encoding="utf-8")
    found = yaml_files.read(path)
    assert found["a"] == {"x": 1, "y": 1e5}
    assert found["b"] == {"x": 2, "y": 1e5}
    assert found["c"] == "1e-3"  # the check says how to write it
    assert found["d"] == [0, 1000, 31, -3]
    assert (found["e"], found["f"]) == ("010", "2024-01-01")
