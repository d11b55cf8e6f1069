"""How the classes of the methods are built: abstract or final, and nothing concrete is overridden."""

import importlib
import inspect
import pkgutil

import numpy as np
import pytest

from cbo_pipeline import methods
from cbo_pipeline.methods.base import Clock, Method
from cbo_pipeline.methods.cbo import CBO

SETTINGS = {"dt": 0.1, "alpha": 1e4, "lambda_": 1.0, "sigma_squared": 1.0, "initial": "uniform", "initial_bound": 1.0}


def classes() -> list[type]:
    modules = [
        importlib.import_module(f"{methods.__name__}.{m.name}") for m in pkgutil.iter_modules(methods.__path__)
    ]
    return [
        item
        for module in modules
        for item in vars(module).values()
        if isinstance(item, type) and issubclass(item, Method) and item.__module__ == module.__name__
    ]


@pytest.mark.parametrize("cls", classes())
def test_a_class_is_abstract_or_final(cls):
    extended = any(cls in other.__mro__[1:] for other in classes())
    assert inspect.isabstract(cls) != getattr(cls, "__final__", False)
    assert inspect.isabstract(cls) or not extended


@pytest.mark.parametrize("cls", classes())
def test_nothing_concrete_is_overridden(cls):
    for name, item in vars(cls).items():
        if name.startswith("__") or not (inspect.isroutine(item) or isinstance(item, property)):
            continue
        for base in cls.__mro__[1:]:
            inherited = vars(base).get(name)
            assert inherited is None or getattr(inherited, "__isabstractmethod__", False), (base, name)


def test_there_are_methods_of_both_kinds():
    assert {cls.__name__ for cls in classes() if not inspect.isabstract(cls)} == {
        methods.find(name).__name__ for name in methods.names()
    }
    assert len(methods.names()) >= 7


@pytest.mark.parametrize(("unit", "count"), [("epochs", 250), ("iterations", 2500)])
def test_alpha_grows_by_epochs_or_by_iterations(unit, count):
    method = CBO(**SETTINGS, alpha_factor=10, alpha_every=1000, alpha_max=1e7, alpha_unit=unit)
    assert method.parameters(Clock(epoch=250, iteration=2500))["alpha"] == 1e4 * 10 ** (count // 1000)


@pytest.mark.parametrize("all_risks", [True, False])
def test_alpha_is_told_where_not_all_risks_are_needed(all_risks):
    """A problem that leaves out whoever cannot have a weight gives the same consensus point."""
    rng = np.random.default_rng(0)
    state = {"particles": {"b": rng.standard_normal((20, 4))}}
    true = rng.uniform(size=20)
    asked = []

    class Problem:
        def risks(self, networks, batch, alpha=None):
            asked.append(alpha)
            return true if alpha is None else np.where(true > true.min() + 746 / alpha, np.inf, true)

    method = CBO(**SETTINGS)
    view = method.look(state, Problem(), None, Clock(0, 0, all_risks))
    assert asked == [None if all_risks else 1e4]
    np.testing.assert_array_equal(
        view.consensus["b"], method.consensus(state["particles"], true, Clock(0, 0)).consensus["b"]
    )
    assert np.isfinite(view.risks).all() == all_risks
