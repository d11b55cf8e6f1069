"""Compiled code is never stale: an edit in any file that holds a kernel changes what every method makes of it."""

import ast
import os
import re
import shutil
from pathlib import Path

import pytest

import tiny
from cbo_pipeline.numerics.kernels import compiler
from checkout import compiled_for
from warm import WarmPython

KERNELS = Path("src/cbo_pipeline/numerics/kernels")

# Every method on a problem of seconds.
CONFIG = """\
experiments:
  one_task:
    problem: square
    seeds: 1
    epochs: 2
    points: 40
    label_noise: 0.1
    batch_size: 20
    M: 6
    N: 9
    dt: 0.1
    alpha: 10.0
    lambda: 1.0
    sigma_squared: 1.0
    initial: uniform
    initial_bound: 1.0
    gamma: 0.5
    methods:
      cbo: {}
      hybrid: {}
      ot_cbo: {}
      adam: {N: 1}
  three_tasks:
    problem: multi_task
    seeds: 1
    epochs: 2
    points: 40
    label_noise: 0.0
    tasks: 3
    batch_size: 20
    M: 6
    N: 9
    dt: 0.1
    alpha: 10.0
    lambda: 1.0
    sigma_squared: 1.0
    initial: uniform
    initial_bound: 1.0
    methods:
      multi_task_cbo: {}
      separate_cbo: {}
      multi_task_ot_cbo: {}
  images:
    problem: mnist
    seeds: 1
    epochs: 1
    images: 40
    batch_size: 20
    M: 3
    N: 9
    dt: 0.1
    alpha: 10.0
    lambda: 1.0
    sigma_squared: 1.0
    initial: uniform
    initial_bound: 1.0
    gamma: 0.5
    methods:
      mnist_cbo: {method: cbo}
      mnist_hybrid: {method: hybrid}
      mnist_adam: {method: adam, N: 1}
"""
WITH_MEANS = {"cbo", "hybrid", "multi_task_cbo", "separate_cbo"}
WITH_MAPS = {"ot_cbo", "multi_task_ot_cbo"}
MANY_TASKS = {"multi_task_cbo", "separate_cbo", "multi_task_ot_cbo"}
ON_IMAGES = {"mnist_cbo", "mnist_hybrid", "mnist_adam"}
ALL = WITH_MEANS | WITH_MAPS | {"adam"}

# By file: edits that change its numbers, each as (old, new), and the methods that compute with it.
EDITS = {
    "dense_layers.py": ([("values[o, q] * scale +", "values[o, q] * scale * 2 +")], ON_IMAGES),
    "dense_losses.py": ([("logarithm(sums[q]) - losses[q]", "logarithm(sums[q]) - 2 * losses[q]")], ON_IMAGES),
    "dense_networks.py": ([("total += losses[s * tile + t]", "total += 2 * losses[s * tile + t]")], ON_IMAGES),
    "dense_packing.py": ([("m - v0 * L] = weights[p]", "m - v0 * L] = 2 * weights[p]")], ON_IMAGES),
    "elementary.py": ([("5.0000001201e-1,", "6.0e-1,")], ON_IMAGES),
    "lanes.py": ([("return builder.fadd(total, builder.fmul", "return builder.fsub(total, builder.fmul")], ON_IMAGES),
    "noise.py": ([("_LN2 = np.float32(0.69314718)", "_LN2 = np.float32(0.7)")], ALL - {"adam"}),
    "piecewise.py": ([("np.float64(c[m]) * scale", "np.float64(c[m]) * scale * 2")], ALL),
    "sparse_lists.py": ([("index[j], value[j] = p, x[s, p]", "index[j], value[j] = p, 2 * x[s, p]")], ON_IMAGES),
    "squared_costs.py": ([("row[j] += away * away", "row[j] += away")], WITH_MAPS),
    "steps.py": (
        [
            ("(x[i] - drift * away) +", "(x[i] - drift * away * 2) +"),  # CBO
            ("s[i] = beta1 * s[i]", "s[i] = beta1 * s[i] * 2"),  # Adam and the hybrid
            ("(x - drift * (x - goal[k])) +", "(x - drift * (x - goal[k]) * 2) +"),  # transport
        ],
        ALL,
    ),
    "task_risks.py": ([("square / size", "2 * square / size")], MANY_TASKS),
    "ties.py": ([("= _smallest_optimum(costs[k], columns[k])", "= columns[k][::-1].copy()")], WITH_MAPS),
    "weighted_sums.py": ([("+= weight * row[d]", "+= 2 * weight * row[d]")], WITH_MEANS),
}

# One process for all methods that are looked at: each kernel is compiled (or loaded, if it were stale) once in it.
# An empty folder of compiled code first gets what the sources before the edit gave, of the modules that are named:
# nobody has to wait for code that the edit cannot reach.
TRAIN = """\
import hashlib, os, pathlib, sys
from cbo_pipeline.numerics.kernels import compiler

kept, home = sys.argv.pop(1).split(","), compiler.home()
if not compiler.sets(home):
    for path in pathlib.Path("first").glob("*/*.nb?"):
        if path.name.partition(".")[0] in kept:
            place = home / "work_first" / path.parent.name
            place.mkdir(parents=True, exist_ok=True)
            os.link(path, place / path.name)
    if (home / "work_first").exists():
        (home / "work_first").rename(home / "1")

from cbo_pipeline.config import load_config, resolve, runs
from cbo_pipeline.training.loop import train

config = load_config("config_of_test.yaml")
for name in runs(config):
    if name.variant in sys.argv[1:]:
        records = train(resolve(config, name)).records
        text = b"".join(key.encode() + values.tobytes() for key, values in sorted(records.items()))
        pathlib.Path(f"{name.variant}.digest").write_text(hashlib.sha256(text).hexdigest())
"""
# It is a fork of one that has loaded numba, with what numba itself compiles for any kernel that makes arrays: some
# seven seconds of every process. Of this package it has nothing.
LOADED = """\
import netCDF4, numba, numpy as np, scipy.linalg, xarray, yaml, jsonschema
@numba.njit(error_model="numpy")
def array_code(n, x):
    x[:1] = x[1:]  # with the words for arrays that do not fit
    kept = [np.empty(n, np.float32).view(np.int32)[0], np.empty(n, np.int64)[0], np.zeros(n, np.int64)[0]]
    kept += [int(np.empty(n)[0]), int(np.zeros(n)[0]), int(np.empty((n, n), x.dtype)[0, 0])]
    kept += [int(np.zeros((n, n), x.dtype)[0, 0]), int(np.empty(n, x.dtype)[0]), np.empty((n, n), np.uint32)[0, 0]]
    kept += [int(np.empty((n, n))[0, 0]), int(np.empty((n, n, n))[0, 0, 0]), np.flatnonzero(x > x[0]).size]
    kept += [int(np.empty((n, n), np.bool_)[0, 0]), int(np.empty((n, n), np.float32)[0, 0])]
    return min(kept[0], n), max(kept[1], n), max(x[0], np.float32(0)), min(1.0, float(x[0])), max(1.0, float(x[0]))
array_code(2, np.ones(2, np.float32))
"""


class Copy:
    """A copy of the package that is edited between processes; all share one folder of compiled code."""

    def __init__(self, folder: Path, images: Path):
        self.folder, self.images = folder, images
        self.python = WarmPython(LOADED)
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(tiny.ROOT / "src", folder / "src", ignore=ignored)
        shutil.copytree(tiny.ROOT / "workflow", folder / "workflow", ignore=ignored)
        shutil.copy2(tiny.ROOT / "config.yaml", folder / "config.yaml")
        # Only the experiments above: those of the paper are left out.
        names = re.findall(r"^  (\w+):$", (folder / "config.yaml").read_text(), re.MULTILINE)
        left_out = "".join(f"  {name}: null\n" for name in names)
        (folder / "config_of_test.yaml").write_text(CONFIG + left_out)
        # What is compiled of the sources as they are, by whatever ran before, need not be compiled here.
        self.compiled = Path(compiled_for(folder)["NUMBA_CACHE_DIR"])

    def keep_compiled(self) -> None:
        """Keep what was compiled of the sources as they are, for processes that come later."""
        (home,) = self.compiled.glob("cbo_pipeline_*")
        shutil.copytree(home / str(compiler.sets(home)[-1]), self.folder / "first")

    def edit(self, name: str, text: str, times: tuple[int, int] | None = None) -> tuple[str, tuple[int, int]]:
        """Write a file of kernels; what it was, and when it was written, which numba looks at."""
        path = self.folder / KERNELS / name
        before, status = path.read_text(), path.stat()
        path.write_text(text)
        if times:
            os.utime(path, ns=times)
        return before, (status.st_atime_ns, status.st_mtime_ns)

    def train(self, methods, kept=()) -> dict[str, str]:
        """A digest of the records of a run of each method. ``kept`` are modules whose code the edit cannot reach."""
        for path in self.folder.glob("*.digest"):
            path.unlink()
        known = {"PYTHONPATH": str(self.folder / "src"), "NUMBA_CACHE_DIR": str(self.compiled)}
        known |= {"CBO_DATA_DIR": str(self.images)}
        done = self.python.run(
            ["-c", TRAIN, ",".join(kept), *sorted(methods)], self.folder, tiny.environment(**known)
        )
        assert done.returncode == 0, done.stderr
        return {path.stem: path.read_text() for path in self.folder.glob("*.digest")}


@pytest.fixture(scope="module")
def copy(tmp_path_factory, mnist_folder):
    folder = tmp_path_factory.mktemp("stale") / "copy"
    folder.mkdir()
    return Copy(folder, mnist_folder)


@pytest.fixture(scope="module")
def before(copy):
    """What the methods compute, with compiled code in the folder from then on."""
    found = copy.train(ALL | ON_IMAGES)
    assert set(found) == ALL | ON_IMAGES
    copy.keep_compiled()
    return found


def out_of_reach(name: str) -> set[str]:
    """The modules of kernels that do not import from a file, not even through others."""
    imported = {}
    for path in (tiny.ROOT / KERNELS).glob("*.py"):
        lines = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        imported[path.stem] = {
            n for line in lines for n in (line.module.split(".")[-1], *(a.name for a in line.names))
        }
    reached, found = set(), {name.removesuffix(".py")}
    while reached != found:
        reached = set(found)
        found |= {module for module, others in imported.items() if others & reached}
    return set(imported) - found


def test_every_file_with_compiled_code_is_edited_here():
    holders = {path.name for path in (tiny.ROOT / KERNELS).glob("*.py")} - {
        "__init__.py",
        "compiler.py",
        "seals.py",
        "threads.py",
    }
    assert holders == set(EDITS)


def test_kernels_are_declared_nowhere_else():
    for path in (tiny.ROOT / "src").rglob("*.py"):
        if path.parent != tiny.ROOT / KERNELS:
            assert not re.search(r"^@(kernel|njit|jit|numba)|import (njit|jit)\b", path.read_text(), re.M), path


def test_kernels_use_nothing_from_other_floors():
    """A constant from elsewhere would be compiled in, and no part of the digest. (A type is not compiled.)"""
    for path in (tiny.ROOT / KERNELS).glob("*.py"):
        imported = re.findall(r"^\s*(?:from|import) (cbo_pipeline.*)", path.read_text(), re.M)
        others = [name for name in imported if not name.startswith("cbo_pipeline.numerics.kernels")]
        assert set(others) <= {"cbo_pipeline.numerics.network import Networks"}, path


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_results_of_every_method_that_uses_the_file(copy, before, name):
    edited = (copy.folder / KERNELS / name).read_text()
    edits, methods = EDITS[name]
    for old, new in edits:
        assert edited.count(old) == 1, old
        edited = edited.replace(old, new)
    original = copy.edit(name, edited)
    try:
        after = copy.train(methods, out_of_reach(name))
    finally:
        copy.edit(name, *original)
    assert set(after) == methods
    assert not [method for method in methods if after[method] == before[method]]
    if name == next(iter(EDITS)):  # once: the first sources give the first results again, by the code that was kept
        assert copy.train(methods) == {method: before[method] for method in methods}
