"""Methods and problems are found by their file: ``methods/cbo.py`` holds the method ``cbo``."""

import functools
import importlib
import pkgutil
from types import ModuleType

_HIDDEN = ("base",)


def names(package: ModuleType) -> tuple[str, ...]:
    """The names of all modules of the package that hold a method or problem."""
    found = (module.name for module in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(n for n in found if n not in _HIDDEN and not n.startswith("_")))


@functools.cache
def find(package: ModuleType, name: str, base: type) -> type:
    """The class in module ``name`` of the package that extends ``base``."""
    module = importlib.import_module(f"{package.__name__}.{name}")
    for item in vars(module).values():
        if isinstance(item, type) and issubclass(item, base) and item.__module__ == module.__name__:
            return item
    raise LookupError(f"{module.__file__} holds no {base.__name__}")
