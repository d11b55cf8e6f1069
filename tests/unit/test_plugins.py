"""Methods and problems of one's own: found in a folder or an installed package, harmless where they are broken."""

import sys
from importlib import metadata

import pytest

from cbo_pipeline import methods, plugins, problems
from cbo_pipeline.config import RunName, check_config, load_config, resolve
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.training.loop import train

METHOD = """
from dataclasses import dataclass, field
from math import sqrt

from cbo_pipeline.methods._weighted import OneEnsemble
from cbo_pipeline.numerics.steps import cbo_step

RULE = {"type": "number", "exclusiveMinimum": 0, "x-unit": "1", "description": "What the time step is divided by."}

@dataclass(frozen=True)
class Slow(OneEnsemble):
    patience: float = field(default=2.0, metadata={"schema": RULE})

    def move(self, state, view, clock, noise):
        drift, diffusion = self.drift / self.patience, self.diffusion / sqrt(self.patience)
        cbo_step(state["particles"], view.consensus, noise, drift, diffusion, self.step_form)
        return state
"""
OWN = """
plugins: {folder}
only_experiments: [sine]
experiments:
  sine: {{seeds: 1, epochs: 2, points: 80, batch_size: 40, M: 5, methods: {{{variants}}}}}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder of one's own; what it adds to the package is gone after the test."""
    for package in (methods, problems):
        (tmp_path / "mine" / package.__name__.rpartition(".")[2]).mkdir(parents=True)
        monkeypatch.setattr(package, "__path__", list(package.__path__))
    monkeypatch.setattr(plugins, "_added", [])
    before = set(sys.modules)
    yield tmp_path / "mine"
    for name in set(sys.modules) - before:
        if name.startswith(("cbo_pipeline.methods.", "cbo_pipeline.problems.", "own_package")):
            del sys.modules[name]


def own_config(folder, variants: str, named: str = "mine"):
    path = folder.parent / "own.yaml"
    path.write_text(OWN.format(folder=named, variants=variants))
    return load_config(path)


def refused(function, *arguments) -> tuple[str, str]:
    with pytest.raises(ConfigError) as error:
        function(*arguments)
    assert "\n" not in str(error.value)
    return error.value.code, error.value.key


def test_a_method_of_a_folder_is_run_with_a_key_of_its_own(folder):
    (folder / "methods" / "slow.py").write_text(METHOD)
    config = own_config(folder, "slow: {from: cbo, patience: 4, N: 6}")  # relative to the config
    check_config(config)
    run = resolve(config, RunName("sine", "slow", 5, 6, 0))
    assert (run.method, run.settings["patience"]) == ("slow", 4.0)
    same = resolve(config, RunName("sine", "cbo", 5, 6, 0), {"dt": run.settings["dt"] / 4})
    assert train(run).records["risk"].tolist() == train(same).records["risk"].tolist()


def test_folders_of_the_environment(folder, monkeypatch):
    (folder / "methods" / "slow.py").write_text(METHOD)
    assert "slow" not in methods.names()
    monkeypatch.setenv("CBO_PLUGINS", str(folder))
    assert "slow" in methods.names()
    assert methods.find("slow").__name__ == "Slow"
    monkeypatch.setenv("CBO_PLUGINS", str(folder / "methods"))
    assert refused(methods.names) == ("unreadable", "CBO_PLUGINS")


BROKEN = {
    "a syntax error": "def (:\n",
    "an unknown import": "import nowhere_to_be_found\n",
    "an error": "1 / 0\n",
    "an exit": "raise SystemExit\n",
    "no method": "x = 3\n",
    "empty": "",
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_a_broken_file_breaks_only_what_names_it(folder, content):
    (folder / "methods" / "broken.py").write_text(content)
    (folder / "problems" / "broken_too.py").write_text(content)
    check_config(own_config(folder, "cbo: {N: 6}"))
    config = own_config(folder, "broken: {N: 6}")
    assert refused(check_config, config) == ("broken-plugin", "methods.broken")


def test_a_class_that_lacks_what_every_method_has_is_refused(folder):
    (folder / "methods" / "half.py").write_text(
        "from cbo_pipeline.methods.base import Method\nclass Half(Method):\n    def start(self): ...\n"
    )
    config = own_config(folder, "half: {N: 6}")
    assert refused(check_config, config) == ("broken-plugin", "experiments.sine.methods.half.method")


def test_the_name_of_a_method_of_the_package_is_taken(folder):
    (folder / "methods" / "cbo.py").write_text(METHOD)
    assert refused(own_config, folder, "cbo: {N: 6}") == ("twice", "plugins")


@pytest.mark.parametrize("named", ["nowhere", "own.yaml", "."])
def test_a_folder_without_plugins_is_refused(folder, named):
    assert refused(own_config, folder, "cbo: {N: 6}", named) == ("unreadable", "plugins")


def test_a_method_of_an_installed_package(folder, monkeypatch, tmp_path):
    (tmp_path / "own_package.py").write_text(METHOD)
    monkeypatch.syspath_prepend(tmp_path)
    point = metadata.EntryPoint("slow", "own_package:Slow", "cbo_pipeline.methods")
    monkeypatch.setattr(plugins, "_entry_points", lambda package: {"slow": point} if "methods" in package else {})
    assert "slow" in methods.names()
    assert methods.find("slow").__module__ == "own_package"
