"""A cache of compiled code that is damaged, read-only, foreign or gone costs time, and neither a run nor a number."""

import os
import shutil
import subprocess

import numpy as np
import pytest

from cbo_pipeline.numerics.kernels import seals
from cbo_pipeline.numerics.kernels.compiler import Workshop, sets


def tripled(x):
    return 3 * x


NUMBERS = np.arange(4.0)


def used(folder) -> bool:
    """What a process does with a cache: look at seals, declare, call, close, seal. Whether it compiled nothing."""
    folder = seals.usable(folder)
    workshop = Workshop(folder)
    try:
        declared = workshop.declare(tripled)
        np.testing.assert_array_equal(declared(NUMBERS), 3 * NUMBERS)
        return sum(declared.stats.cache_hits.values()) > 0
    finally:
        workshop.close()
        seals.seal(folder)


@pytest.fixture
def cache(tmp_path):
    """A cache that a process has filled and another has used."""
    folder = tmp_path / "cache"
    assert not used(folder)
    assert used(folder)
    assert sets(folder) == [1]
    return folder


def only(folder, pattern: str):
    (path,) = folder.glob(f"1/*/*.{pattern}")
    return path


def replaced(path, content: bytes) -> None:
    """The set of files is linked, so a write in place would reach what other tests hold."""
    path.unlink()
    path.write_bytes(content)


def flipped(content: bytes, place: float) -> bytes:
    changed = bytearray(content)
    changed[int(place * (len(content) - 1))] ^= 16
    return bytes(changed)


DAMAGE = {
    "empty": lambda content: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "without its last byte": lambda content: content[:-1],
    "zeros": lambda content: bytes(len(content)),
    "text": lambda content: b"not a cache\n",
    "a bit at the start": lambda content: flipped(content, 0.02),
    "a bit in the middle": lambda content: flipped(content, 0.5),
    "a bit at the end": lambda content: flipped(content, 0.99),
}


@pytest.mark.parametrize("kind", ["nbi", "nbc"], ids=["index", "code"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_code_is_compiled_once_more(cache, kind, damage, record_property):
    path = only(cache, kind)
    replaced(path, DAMAGE[damage](path.read_bytes()))
    assert not used(cache)
    assert used(cache)  # and kept again
    assert not list(cache.glob("work_*"))
    record_property("fault", ["a damaged kernel cache", 1, 1, None])


def a_file_is_gone(cache):
    only(cache, "nbc").unlink()


def the_seal_is_damaged(cache):
    (cache / "1.sha256").write_bytes(b"\xff\x00nonsense")


def the_set_is_empty(cache):
    shutil.rmtree(next((cache / "1").iterdir()))


@pytest.mark.parametrize("spoil", [a_file_is_gone, the_seal_is_damaged, the_set_is_empty], ids=lambda s: s.__name__)
def test_an_incomplete_set_is_made_once_more(cache, spoil, record_property):
    spoil(cache)
    assert not used(cache)
    assert used(cache)
    record_property("fault", ["a damaged kernel cache", 1, 1, None])


def test_a_set_that_was_never_sealed_is_used_and_sealed(cache):
    """Of a process that was killed before it came to that, or of an older version."""
    (cache / "1.sha256").unlink()
    assert used(cache)
    assert (cache / "1.sha256").is_file()


@pytest.mark.parametrize("damaged", [False, True])
def test_a_cache_that_may_only_be_read_costs_time_at_most(cache, damaged, record_property):
    """Damaged, it can neither be removed nor be used."""
    if damaged:
        path = only(cache, "nbc")
        replaced(path, flipped(path.read_bytes(), 0.5))
    mounted = subprocess.run(["mount", "--bind", "-o", "ro", cache, cache], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("root may write everywhere, and mounting is not allowed here")
    try:
        assert used(cache) == (not damaged)
    finally:
        subprocess.run(["umount", cache], check=True)
    record_property("fault", ["a read-only kernel cache", 1, 1, None])


@pytest.mark.parametrize("thing", ["a file", "a broken link", "a pipe"])
def test_something_else_in_its_place_costs_time_only(tmp_path, thing, record_property):
    place = tmp_path / "cache"
    if thing == "a file":
        place.write_text("")
    elif thing == "a broken link":
        place.symlink_to(tmp_path / "nowhere" / "at all")
    else:
        os.mkfifo(place)
    assert not used(place)
    record_property("fault", ["a read-only kernel cache", 1, 1, None])
