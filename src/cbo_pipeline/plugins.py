"""Methods and problems are found by their file: ``methods/cbo.py`` holds the method ``cbo``.

Others come from folders of one's own with the subfolders ``methods`` and ``problems`` (the key ``plugins`` of a
config, or the environment variable CBO_PLUGINS), and from installed packages (entry points of the groups
``cbo_pipeline.methods`` and ``cbo_pipeline.problems``). A file that cannot be loaded breaks only what names it.
"""

import functools
import importlib
import os
import pkgutil
from importlib import metadata
from pathlib import Path
from types import ModuleType

from cbo_pipeline.errors import ConfigError

ENVIRONMENT = "CBO_PLUGINS"  # folders, separated as in PATH
KINDS = ("methods", "problems")
_HIDDEN = ("base",)
_added: list[Path] = []


def add(*folders: Path) -> None:
    """Look into these folders too, for as long as this process lives."""
    for folder in folders:
        folder = _checked(folder, "plugins")
        if folder not in _added:
            _added.append(folder)


def folders() -> tuple[Path, ...]:
    """All folders of one's own: those that were added, and those of the environment."""
    named = os.environ.get(ENVIRONMENT, "")
    return tuple(dict.fromkeys([*_added, *_named(named)])) if _added or named else ()  # asked thousands of times


@functools.cache
def _named(folders: str) -> tuple[Path, ...]:
    return tuple(_checked(Path(name), ENVIRONMENT) for name in folders.split(os.pathsep) if name)


def _checked(folder: Path, key: str) -> Path:
    """A folder that holds methods or problems, none of them under a name that the package has already."""
    folder = Path(os.path.normpath(folder.absolute()))
    if not any((folder / kind).is_dir() for kind in KINDS):
        words = f"{key}: {folder} has neither a folder methods nor a folder problems"
        raise ConfigError(words, code="unreadable", key=key, file=str(folder))
    for kind in KINDS:
        own = {path.stem for path in (Path(__file__).parent / kind).glob("*.py")} - {"__init__"}
        for path in sorted((folder / kind).glob("*.py")):
            if path.stem in own:
                words = f"{key}: {path}: the package has a file of this name; choose another"
                raise ConfigError(words, code="twice", key=key, file=str(path))
    return folder


def names(package: ModuleType) -> tuple[str, ...]:
    """The names of all modules of the package, and of one's own folders, that hold a method or problem."""
    paths = _paths(package)
    files = _files(tuple((path, Path(path).stat().st_mtime_ns) for path in paths))
    return tuple(sorted({*files, *_entry_points(package.__name__)}))


@functools.cache
def _files(folders: tuple[tuple[str, int], ...]) -> tuple[str, ...]:
    """The modules of these folders, each with the time of its last change."""
    found = (module.name for module in pkgutil.iter_modules([path for path, _ in folders]))
    return tuple(name for name in found if name not in _HIDDEN and not name.startswith("_"))


def find(package: ModuleType, name: str, base: type) -> type:
    """The class in module ``name`` of the package that extends ``base``."""
    kind = package.__name__.rpartition(".")[2]
    _paths(package)
    try:
        if name in _entry_points(package.__name__):
            module = importlib.import_module(_entry_points(package.__name__)[name].module)
        else:
            module = importlib.import_module(f"{package.__name__}.{name}")
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        words = f"{kind}/{name}.py cannot be loaded ({reason})"
        raise ConfigError(words, code="broken-plugin", key=f"{kind}.{name}", file=f"{kind}/{name}.py") from error
    for item in vars(module).values():
        if isinstance(item, type) and issubclass(item, base) and item.__module__ == module.__name__:
            return item
    words = f"{module.__file__}: holds no {base.__name__}"
    raise ConfigError(words, code="broken-plugin", key=f"{kind}.{name}", file=str(module.__file__))


def _paths(package: ModuleType) -> list[str]:
    """The folders of a package, one's own among them: Python finds the modules of a package along its path."""
    kind = package.__name__.rpartition(".")[2]
    for folder in folders():
        if (folder / kind).is_dir() and str(folder / kind) not in package.__path__:
            package.__path__.append(str(folder / kind))
            importlib.invalidate_caches()
    return list(package.__path__)


@functools.cache
def _entry_points(package: str) -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in _all_entry_points().select(group=package)}


@functools.cache
def _all_entry_points() -> metadata.EntryPoints:
    """Of all groups: the files of every installed package are read for one group too."""
    return metadata.entry_points()
