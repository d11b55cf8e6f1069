"""From config to runs. (Bad configs have a file of their own.)"""

import copy
import json

import pytest

from cbo_pipeline.config import Run, RunName, check_config, load_config, resolve, runs
from cbo_pipeline.config.keys import taken_keys
from cbo_pipeline.config.schema import schema
from cbo_pipeline.errors import ConfigError


@pytest.fixture
def config():
    return load_config()


def test_the_paper_is_in_the_config(config):
    check_config(config)
    sine = resolve(config, RunName("sine", "cbo", 100, 200, 0)).settings
    expected = {"dt": 0.1, "alpha": 1e5, "lambda": 1.0, "sigma_squared": 1.6, "batch_size": 800, "points": 8000}
    assert {k: sine[k] for k in expected} == expected
    names = [n for n in runs(config) if n.experiment == "sine" and n.variant == "cbo"]
    assert [n.seed for n in names] == list(range(10))


def test_every_run_has_one_name(config):
    names = list(runs(config))
    assert len(names) == len(set(names))
    assert len({str(n) for n in names}) == len(names)


def test_a_method_wins_over_its_experiment(config):
    config["experiments"]["sine"]["methods"]["adam"]["epochs"] = 7
    assert resolve(config, RunName("sine", "adam", 100, 1, 0)).settings["epochs"] == 7
    assert resolve(config, RunName("sine", "cbo", 100, 200, 0)).settings["epochs"] != 7


def test_a_run_holds_what_it_needs_and_no_more(config):
    adam = resolve(config, RunName("sine", "adam", 100, 1, 0)).settings
    assert "alpha" not in adam
    assert "methods" not in adam
    assert {"dt", "beta1", "points", "epochs"} <= set(adam)


def test_editing_one_method_changes_the_runs_of_that_method_only(config):
    before = {n: resolve(config, n).json for n in runs(config)}
    config["experiments"]["sine"]["methods"]["adam"]["dt"] = 0.05
    changed = {(n.experiment, n.variant) for n in runs(config) if resolve(config, n).json != before[n]}
    assert changed == {("sine", "adam")}


def test_json_round_trip(config):
    run = resolve(config, RunName("sine", "cbo", 100, 200, 4))
    assert Run.from_json(run.json) == run
    assert list(json.loads(run.json)) == sorted(json.loads(run.json))


def test_grids_are_joined_and_a_shared_corner_is_run_once(config):
    cbo = config["experiments"]["sine"]["methods"]["cbo"]
    cbo["grid"] = [{"M": [10, 20], "N": 30}, {"M": 20, "N": [15, 30]}]
    cbo["seeds"] = [5]
    names = [(n.M, n.N) for n in runs(config) if (n.experiment, n.variant) == ("sine", "cbo")]
    assert names == [(10, 30), (20, 30), (20, 15)]


def test_an_overlay_changes_what_it_names(tmp_path):
    (tmp_path / "other.yaml").write_text("experiments: {sine: {epochs: 3, methods: {cbo: {N: 5}}}}\n")
    config = load_config(tmp_path / "other.yaml")
    run = resolve(config, RunName("sine", "cbo", 100, 5, 0))
    assert run.settings["epochs"] == 3
    assert run.settings["points"] == 8000


def test_consensus_is_not_guaranteed_for_large_sigma(config):
    config = copy.deepcopy(config)
    config["experiments"] = {"sine": config["experiments"]["sine"]}
    config["experiments"]["sine"]["methods"]["cbo"]["sigma_squared"] = 2.0
    with pytest.warns(UserWarning, match="sine.methods.cbo: 2 lambda = 2 <= sigma_squared = 2: consensus is not"):
        check_config(config)


def test_an_unknown_experiment_or_method_is_named(config):
    with pytest.raises(ConfigError, match="experiments: unknown experiment 'sinus'; did you mean sine"):
        resolve(config, RunName("sinus", "cbo", 1, 1, 0))
    with pytest.raises(ConfigError, match=r"experiments\.sine\.methods: unknown variant 'cbx'; did you mean cbo"):
        resolve(config, RunName("sine", "cbx", 1, 1, 0))


def test_the_schema_describes_every_key():
    for key, rule in schema()["x-settings"].items():
        assert rule.get("description"), key
        assert rule.get("x-unit"), key
    import jsonschema

    jsonschema.Draft202012Validator.check_schema(schema())


def test_every_key_of_methods_and_problems_is_in_the_schema():
    from cbo_pipeline import methods, problems

    known = set(schema()["x-settings"])
    for package in (methods, problems):
        for name in package.names():
            assert set(taken_keys(package.find(name))) <= known, name
