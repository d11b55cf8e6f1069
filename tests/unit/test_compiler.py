"""Where compiled code is kept: shared by processes, never exchanged, never stale, never in the way."""

import os
import shutil
import tempfile
import time
import warnings

import numpy as np
import pytest

from cbo_pipeline.numerics.kernels import compiler
from cbo_pipeline.numerics.kernels.compiler import Workshop, digest, sets


def doubled(x):
    return x + x


def squared(x):
    return x * x


FLOAT32, FLOAT64 = np.arange(3, dtype=np.float32), np.arange(3, dtype=np.float64)


def call(workshop: Workshop, function, argument) -> bool:
    """Declare and call a kernel; whether its code was there already."""
    declared = workshop.declare(function)
    np.testing.assert_array_equal(declared(argument), function(argument))
    assert declared(argument).dtype == argument.dtype
    return sum(declared.stats.cache_hits.values()) > 0


def test_what_was_compiled_once_is_there_for_the_next(tmp_path):
    first = Workshop(tmp_path / "code")
    assert not call(first, doubled, FLOAT32)
    first.close()
    second = Workshop(tmp_path / "code")
    assert call(second, doubled, FLOAT32)
    second.close()
    assert sets(tmp_path / "code") == [1]  # nothing new: no other set
    assert not list(tmp_path.glob("*/work_*"))


def test_two_at_once_never_exchange_their_code(tmp_path):
    """Both compile another signature of one function, to which numba gives the same number."""
    first, second = Workshop(tmp_path / "code"), Workshop(tmp_path / "code")
    assert not call(first, doubled, FLOAT32)
    assert not call(second, doubled, FLOAT64)
    second.close()
    first.close()
    third = Workshop(tmp_path / "code")
    assert call(third, doubled, FLOAT64)
    assert not call(third, doubled, FLOAT32)  # given up for the other; compiled once more
    third.close()
    fourth = Workshop(tmp_path / "code")
    assert call(fourth, doubled, FLOAT64)
    assert call(fourth, doubled, FLOAT32)
    fourth.close()


def test_two_at_once_add_up(tmp_path):
    first, second = Workshop(tmp_path / "code"), Workshop(tmp_path / "code")
    call(first, doubled, FLOAT32)
    call(second, squared, FLOAT32)
    first.close()
    second.close()
    third = Workshop(tmp_path / "code")
    assert call(third, doubled, FLOAT32)
    assert call(third, squared, FLOAT32)
    third.close()


def test_a_set_may_be_kept_before_the_end(tmp_path):
    first = Workshop(tmp_path / "code")
    call(first, doubled, FLOAT32)
    first.keep()
    call(first, squared, FLOAT32)
    second = Workshop(tmp_path / "code")
    assert call(second, doubled, FLOAT32)
    second.close()
    first.close()
    third = Workshop(tmp_path / "code")
    assert call(third, squared, FLOAT32)
    third.close()


def test_a_killed_process_leaves_nothing_that_is_used(tmp_path):
    killed = Workshop(tmp_path / "code")
    call(killed, doubled, FLOAT32)
    after = Workshop(tmp_path / "code")
    assert not call(after, doubled, FLOAT32)
    after.close()
    assert killed.work.exists()
    long_ago = time.time() - 2 * compiler.ABANDONED
    os.utime(killed.work, (long_ago, long_ago))
    Workshop(tmp_path / "code").close()
    assert not killed.work.exists()


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        workshop = Workshop(tmp_path / "file" / "code")
        assert not call(workshop, doubled, FLOAT32)
        workshop.close()
    assert (tmp_path / "file").read_text() == "in the way"
    assert not workshop.work.exists()


def test_no_folder_at_all_only_costs_time(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "file"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        workshop = Workshop(tmp_path / "file" / "code")
        assert workshop.work is None
        assert not call(workshop, doubled, FLOAT32)
        workshop.close()


def test_a_full_disk_only_costs_time(tmp_path, monkeypatch):
    monkeypatch.setattr(compiler, "ROOM", 1 << 80)
    workshop = Workshop(tmp_path / "code")
    assert workshop.work is None
    assert not call(workshop, doubled, FLOAT32)


def test_a_folder_that_vanishes_only_costs_time(tmp_path):
    first = Workshop(tmp_path / "code")
    call(first, doubled, FLOAT32)
    shutil.rmtree(tmp_path / "code")
    first.close()


def test_code_of_the_oldest_sources_is_removed(tmp_path):
    for age in range(12):
        folder = tmp_path / f"cbo_pipeline_{age:016x}"
        folder.mkdir()
        os.utime(folder, (1e9 - age, 1e9 - age))
    (tmp_path / "something_else").mkdir()
    Workshop(tmp_path / "cbo_pipeline_now").close()
    kept = {path.name for path in tmp_path.glob("cbo_pipeline_*")}
    assert kept == {"cbo_pipeline_now", *(f"cbo_pipeline_{age:016x}" for age in range(compiler.DIGESTS_KEPT))}
    assert (tmp_path / "something_else").exists()


def test_the_digest_belongs_to_every_source(tmp_path):
    for count, path in enumerate(sorted(compiler.SOURCES.glob("*.py"))):
        copy = shutil.copytree(compiler.SOURCES, tmp_path / str(count), ignore=shutil.ignore_patterns("__pycache__"))
        assert digest(copy) == digest()
        with (copy / path.name).open("a") as file:
            file.write("\n")
        digest.cache_clear()
        assert digest(copy) != digest()


@pytest.mark.parametrize("told", [None, "{tmp_path}/elsewhere"])
def test_the_user_may_choose_the_folder(tmp_path, monkeypatch, told):
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    if told:
        monkeypatch.setenv("NUMBA_CACHE_DIR", told.format(tmp_path=tmp_path))
    parent = tmp_path / "elsewhere" if told else tmp_path / "cache" / "cbo_pipeline"
    assert compiler.home() == parent / f"cbo_pipeline_{digest()}"
