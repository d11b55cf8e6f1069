"""A copy of the project that a test may edit and run."""

import contextlib
import os
import re
import shutil
import sys
from pathlib import Path

from numba.core.caching import UserProvidedCacheLocator

import warm
from cbo_pipeline.numerics.kernels import compiler

ROOT = Path(__file__).parents[1]
KERNELS = Path("src", "cbo_pipeline", "numerics", "kernels")
TINY = """\
experiments:
  sine:
    seeds: 2
    epochs: 2
    points: 40
    batch_size: 20
    M: 4
    snapshots: [0]
    methods:
      cbo: {N: 6}
      cbo_float64: {N: 6}
      hybrid: null
"""
SINE = ["fig2", "fig3", "results/summary/sine.nc"]


class Checkout:
    """A copy of the project's workflow and package that a test may edit, with a folder to run it in."""

    def __init__(self, folder: Path):
        self.root, self.work = folder / "project", folder / "work"
        self.root.mkdir()
        self.work.mkdir()
        for name in ("Snakefile", "config.yaml", "CITATION.cff"):
            shutil.copy2(ROOT / name, self.root / name)
        for name in ("workflow", "src", "envs"):
            shutil.copytree(ROOT / name, self.root / name, ignore=shutil.ignore_patterns("__pycache__"))
        self.config = self.root / "tiny.yaml"
        self.config.write_text(TINY)

    def snakemake(self, *arguments: str, ok: bool = True) -> str:
        """What Snakemake prints; ``ok`` is whether it must succeed."""
        place = self._under_one_name()
        config = place / self.config.relative_to(self.root)
        common = ["--directory", self.work, "--configfile", config, "--snakefile", place / "Snakefile"]
        command = [sys.executable, "-m", "snakemake", *map(str, common), *arguments]
        done = warm.run(command, Path.cwd(), {**os.environ, **compiled_for(place)})
        output = done.stdout + done.stderr
        assert (done.returncode == 0) == ok, output
        return output

    def _under_one_name(self) -> Path:
        """The name under which all copies that one process makes are run, one at a time.

        Compiled code is kept by the path of its source: under another name everything would be compiled again.
        """
        link = self.root.parent.parent / "checkout"
        link.unlink(missing_ok=True)
        link.symlink_to(self.root)
        return link

    def make(self, *targets: str, cores: int = 2) -> str:
        return self.snakemake("--cores", str(cores), *(targets or SINE))

    def planned(self, *targets: str) -> dict[str, int]:
        """How many jobs of each rule would run."""
        output = self.snakemake("--dry-run", "--cores", "1", *(targets or SINE))
        table = re.findall(r"^(\w+)\s+(\d+)$", output, re.MULTILINE)
        return {rule: int(count) for rule, count in table if rule != "total"}

    def files(self, pattern: str) -> dict[str, bytes]:
        return {str(p.relative_to(self.work)): p.read_bytes() for p in sorted(self.work.glob(pattern)) if p.is_file()}


def compiled_for(root: Path) -> dict[str, str]:
    """The variable that names a folder of compiled code for a copy of the project, filled with that of the project.

    numba keeps code by the path of its source, so every copy would compile for ten seconds what is there already. It
    takes code only for sources that are the same, with the same times, as those of an unedited copy are.
    """
    cache, home = root.parent / "compiled", compiler.home()
    own, other = (
        UserProvidedCacheLocator.get_suitable_cache_subpath(str(place / KERNELS / "any.py")) for place in (ROOT, root)
    )
    for number in compiler.sets(home)[-1:] if not cache.exists() else ():
        with contextlib.suppress(OSError, shutil.Error):  # replaced by a newer set at this moment: it is compiled
            shutil.copytree(home / str(number) / own, cache / home.name / "1" / other)
    return {"NUMBA_CACHE_DIR": str(cache)}


def checkout_in(folder: Path) -> Path:
    """A copy of the workflow and the package."""
    root = folder / "check out"
    for name in ("Snakefile", "config.yaml", "src", "workflow", "envs", "tests"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            root.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, root / name)
    return root
