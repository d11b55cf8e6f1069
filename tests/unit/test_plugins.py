"""Methods and problems of one's own: found in a folder or an installed package, harmless where they are broken."""

import sys
from importlib import metadata

import numpy as np
import pytest

from cbo_pipeline import methods, plugins, problems
from cbo_pipeline.config import Run, RunName, check_config, load_config, resolve
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.training.loop import Training, train
from table_files import small, write_csv

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


def test_a_run_of_ones_own_method_can_be_read_where_its_folder_is_named(folder, monkeypatch):
    (folder / "methods" / "slow.py").write_text(METHOD)
    monkeypatch.setenv("CBO_PLUGINS", str(folder))
    text = resolve(own_config(folder, "slow: {from: cbo, N: 6}"), RunName("sine", "slow", 5, 6, 0)).json
    assert Run.from_json(text).method == "slow"
    monkeypatch.delenv("CBO_PLUGINS")
    monkeypatch.setattr(plugins, "_added", [])
    monkeypatch.setattr(methods, "__path__", [path for path in methods.__path__ if str(folder) not in path])
    with pytest.raises(ConfigError, match="CBO_PLUGINS") as error:
        Run.from_json(text)
    assert error.value.code == "unknown-name"


PENALISED = """
from dataclasses import dataclass

import numpy as np

from cbo_pipeline.problems.table import Table

@dataclass
class Penalised(Table):
    def risks(self, networks, batch, alpha=None):
        return super().risks(networks, batch, alpha) + np.square(networks["c"]).mean(axis=(1, 2))
"""


def test_a_problem_that_starts_from_the_table_has_its_defaults_and_its_checks(folder):
    (folder / "problems" / "penalised.py").write_text(PENALISED)
    write_csv(folder.parent / "table.csv", small())
    config = folder.parent / "own.yaml"
    config.write_text(
        "plugins: mine\nonly_experiments: [own]\nexperiments:\n  own: {problem: penalised, data: table.csv,"
        " targets: y, epochs: 2, methods: {cbo: {}}}\n"
    )
    content = load_config(config)
    check_config(content)
    run = resolve(content, RunName("own", "cbo", 50, 200, 0))
    assert (run.settings["rows"], run.settings["sigma_squared"]) == (60, 1.6)
    training = Training.start(run)
    problem, networks, rows = training.problem, training.state["particles"], np.arange(16)
    more = np.square(networks["c"]).mean(axis=(1, 2))
    plain = super(type(problem), problem).risks(networks, problem.batch(rows))
    np.testing.assert_allclose(problem.risks(networks, problem.batch(rows)), plain + more)
    assert np.isfinite(training.finish().records["risk_test"]).all()


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
