"""Runs: one form for equal settings, runs that are asked for by hand, and what does not fit together."""

import hashlib
import json

import pytest

from cbo_pipeline.config import Run, RunName, check_config, chosen_run, load_config, resolve, resolving, runs
from cbo_pipeline.config.keys import Loop, defaults, parts, taken_keys
from cbo_pipeline.config.normalise import assignment
from cbo_pipeline.errors import ConfigError

CONFIG = load_config()
SINE = RunName("sine", "cbo", 100, 200, 0)
SNAPSHOTS = CONFIG["experiments"]["sine"]["snapshots"]


def refused(function, *arguments, **named) -> tuple[str, str]:
    with pytest.raises(ConfigError) as error:
        function(*arguments, **named)
    assert str(error.value).startswith(error.value.key)
    return error.value.code, error.value.key


# --- One form -----------------------------------------------------------------------------------------------------

SAME = {
    "an integer for a number": {"alpha_factor": 10},
    "a number for a number": {"alpha_factor": 10.0},
    "a default written out": {"data_seed": None, "batches": "partition", "reported": "consensus", "record_every": 1},
    "another order": {"snapshots": SNAPSHOTS[::-1]},
    "the last epoch among the snapshots": {"snapshots": [*SNAPSHOTS, 2000]},
    "records of all epochs": {"record_first": 5000, "record_every": 10},
}


@pytest.mark.parametrize("changes", SAME.values(), ids=SAME)
def test_equal_settings_have_equal_texts(changes):
    assert resolve(CONFIG, SINE, changes).json == resolve(CONFIG, SINE).json


def test_minus_zero_is_zero():
    assert resolve(CONFIG, SINE, {"label_noise": -0.0}).json == resolve(CONFIG, SINE, {"label_noise": 0}).json


def test_other_settings_have_other_texts():
    changes = [
        {"alpha_factor": 10.5},
        {"data_seed": 0},
        {"snapshots": [0]},
        {"record_every": 2},
        {"precision": "float64"},
    ]
    texts = {resolve(CONFIG, SINE, change).json for change in [{}, *changes]}
    assert len(texts) == len(changes) + 1


def test_settings_hold_every_key_that_can_be_written_and_no_other():
    for name in (SINE, RunName("sine", "adam", 100, 1, 0), RunName("mnist", "hybrid", 20, 1000, 0)):
        run = resolve(CONFIG, name)
        keys = {key for cls in parts(run.problem, run.method) for key in taken_keys(cls)}
        assert set(run.settings) == keys
        for cls in parts(run.problem, run.method):
            assert set(defaults(cls)) <= keys
        assert all(type(run.settings[key]) is float for key in ("dt",))


def test_the_text_names_all_parts():
    content = json.loads(resolve(CONFIG, SINE).json)
    assert content["name"] == {"experiment": "sine", "variant": "cbo", "M": 100, "N": 200, "seed": 0}
    assert (content["problem"], content["method"]) == ("sine", "cbo")
    assert set(taken_keys(Loop)) <= set(content["settings"])


def test_a_text_without_defaults_is_read_as_the_same_run():
    run = resolve(CONFIG, SINE)
    content = json.loads(run.json)
    for key in ("record_every", "record_first", "keep_ensembles", "data_seed", "reported"):
        del content["settings"][key]
    content["settings"]["alpha"] = 100000
    assert Run.from_json(json.dumps(content)) == run


@pytest.mark.parametrize("text", ["", "3", "{}", "[]", '{"name": {}}', "[" * 100_000, '{"name": {"method": "cbo"}}'])
def test_what_is_not_the_text_of_a_run_is_refused(text):
    assert refused(Run.from_json, text) == ("not-a-run", "settings")


def test_a_text_is_checked_like_a_config():
    content = json.loads(resolve(CONFIG, SINE).json)
    content["settings"]["dt"] = -1.0
    assert refused(Run.from_json, json.dumps(content)) == ("out-of-bounds", "experiments.sine.methods.cbo.dt")
    content["name"]["variant"] = "../cbo"
    assert refused(Run.from_json, json.dumps(content)) == ("bad-name", "settings.name.variant")
    content["name"]["variant"] = "cbo"
    content["settings"] |= {"dt": 0.1, "gamma": 0.5}
    assert refused(Run.from_json, json.dumps(content)) == ("not-taken", "experiments.sine.methods.cbo.gamma")


def test_another_seed_is_the_same_curve():
    run = resolve(CONFIG, SINE)
    assert run.with_seed(7).name == SINE.curve.run(7)
    assert run.with_seed(7).with_seed(0) == run


# --- By hand ------------------------------------------------------------------------------------------------------


def test_a_run_by_hand_takes_the_first_of_the_config():
    assert chosen_run(CONFIG, "sine", "cbo").name == SINE
    assert chosen_run(CONFIG, "square", "ot_cbo", seed=3).name == RunName("square", "ot_cbo", 10, 200, 3)


def test_sizes_can_be_changed_in_either_way():
    expected = RunName("sine", "cbo", 20, 5, 0)
    assert chosen_run(CONFIG, "sine", "cbo", M=20, N=5).name == expected
    assert chosen_run(CONFIG, "sine", "cbo", changes={"M": 20, "N": 5}).name == expected
    assert chosen_run(CONFIG, "sine", "cbo", M=20, changes={"M": 20, "N": 5}).name == expected


CHANGES = {
    "a size twice": ({"M": 20}, {"M": 10}, ("conflict", "--set M")),
    "a wide M": ({"M": "wide"}, {}, ("wrong-type", "experiments.sine.methods.cbo.M")),
    "several N": ({"N": [1, 2]}, {}, ("wrong-type", "--set N")),
    "no M": ({"M": None}, {}, ("wrong-type", "experiments.sine.methods.cbo.M")),
    "seeds": ({"seeds": 3}, {}, ("other-option", "--set seeds")),
    "a grid": ({"grid": [{"M": 1, "N": 1}]}, {}, ("other-option", "--set grid")),
    "a method": ({"method": "adam"}, {}, ("other-option", "--set method")),
    "a problem": ({"problem": "square"}, {}, ("other-option", "--set problem")),
    "from": ({"from": "hybrid"}, {}, ("other-option", "--set from")),
    "a sweep": ({"sweep": {"alpha": [1.0]}}, {}, ("other-option", "--set sweep")),
    "an unknown key": ({"epoch": 3}, {}, ("not-taken", "experiments.sine.methods.cbo.epoch")),
    "never": ({"epochs": 5, "snapshots": [6]}, {}, ("never-reached", "experiments.sine.methods.cbo.snapshots")),
}


@pytest.mark.parametrize(("changes", "named", "expected"), CHANGES.values(), ids=CHANGES)
def test_no_change_is_ignored(changes, named, expected):
    assert refused(chosen_run, CONFIG, "sine", "cbo", changes=changes, **named) == expected


def test_fewer_epochs_by_hand_need_no_other_snapshots():
    found = chosen_run(CONFIG, "sine", "cbo", changes={"epochs": 50}).settings["snapshots"]
    assert found == [epoch for epoch in SNAPSHOTS if epoch < 50]


def test_changes_are_typed_as_yaml():
    assert assignment("alpha=1.0e+3") == ("alpha", 1000.0)
    assert assignment("data_seed=null") == ("data_seed", None)
    for text, code in (("alpha", "bad-change"), ("=3", "bad-change"), ("M=010", "odd-number"), ("M=[1", "not-yaml")):
        with pytest.raises(ConfigError) as error:
            assignment(text)
        assert error.value.code == code
        assert str(error.value).startswith(f"--set {text}")


# --- What does not fit together ---------------------------------------------------------------------------------


def test_alpha_max_is_not_below_alpha():
    assert refused(resolve, CONFIG, SINE, {"alpha_max": 9.9e4}) == (
        "does-not-fit",
        "experiments.sine.methods.cbo.alpha_max",
    )
    resolve(CONFIG, SINE, {"alpha_max": 1e5})


@pytest.mark.parametrize("method", ["adam", "hybrid"])
def test_a_method_that_needs_gradients_is_refused_where_there_are_none(method):
    own = {"adam": {"method": "adam", "N": 1, "dt": 0.1, "initial": "pytorch"}}
    own["hybrid"] = {**CONFIG["experiments"]["sine"]["methods"]["hybrid"], "method": "hybrid"}
    content = {**CONFIG["experiments"]["multi_task"], "tasks": 1, "methods": {"own": own[method]}}
    code, key = refused(check_config, {"experiments": {"multi_task": content}})
    assert (code, key) == ("no-gradients", "experiments.multi_task.methods.own")


@pytest.mark.parametrize("key", ["alpha", "seeds", "N", "epochs", "data_seed"])
def test_a_number_of_400_digits_is_refused(key, tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(f"experiments: {{sine: {{methods: {{cbo: {{{key}: 1{'0' * 400}}}}}}}}}\n")
    assert refused(load_config, path) == ("too-large", f"experiments.sine.methods.cbo.{key}")


def test_our_own_experiment_beyond_the_condition_warns_nobody(recwarn):
    check_config(CONFIG)
    assert not recwarn.list


# --- Files that a run reads -------------------------------------------------------------------------------------

PLUGIN = """
from dataclasses import dataclass, field
from cbo_pipeline.problems.sine import Sine

@dataclass
class FromFile(Sine):
    data: str = field(kw_only=True)
    data_digest: str = field(kw_only=True)
"""


@pytest.fixture
def from_file(tmp_path, monkeypatch):
    """A config in a folder of its own, with a problem of its own that reads a file there."""
    monkeypatch.setattr("cbo_pipeline.plugins._added", [])
    monkeypatch.setattr("cbo_pipeline.problems.__path__", list(__import__("cbo_pipeline.problems").problems.__path__))
    folder = tmp_path / "mine"
    (folder / "plugins" / "problems").mkdir(parents=True)
    (folder / "plugins" / "problems" / "from_file.py").write_text(PLUGIN)
    (folder / "table.csv").write_text("x,y\n1,2\n")
    (folder / "own.yaml").write_text(
        "plugins: plugins\nonly_experiments: [own]\nexperiments: {own: {problem: from_file, data: table.csv,"
        " seeds: 1, epochs: 2, points: 80, label_noise: 0.0, batch_size: 40, M: 5,"
        " methods: {cbo: {from: sine/cbo, N: 4}}}}\n"
    )
    return folder


def test_a_file_is_named_relative_to_its_config_and_its_content_is_part_of_the_run(from_file, monkeypatch):
    name = RunName("own", "cbo", 5, 4, 0)
    config = load_config(from_file / "own.yaml")
    check_config(config)
    run = resolve(config, name)
    assert run.settings["data"] == str(from_file / "table.csv")
    assert run.settings["data_digest"] == hashlib.sha256(b"x,y\n1,2\n").hexdigest()
    assert Run.from_json(run.json) == run
    (from_file / "table.csv").write_text("x,y\n1,3\n")
    assert resolve(config, name).json != run.json
    monkeypatch.chdir(from_file.parent)  # below the working directory: relative, so that the folder can move
    assert resolve(load_config("mine/own.yaml"), name).settings["data"] == "mine/table.csv"


def test_files_of_a_sweep_are_named_relative_to_its_config(from_file, monkeypatch):
    """Not to the working directory, whose file of that name is another one; nor do names of variants depend on it."""
    elsewhere = from_file.parent / "elsewhere"
    for folder in (from_file / "more", elsewhere):
        folder.mkdir()
    for path in (from_file / "a.csv", from_file / "more" / "b.csv", elsewhere / "a.csv"):
        path.write_text(f"x,y\n1,{len(str(path))}\n")
    text = (from_file / "own.yaml").read_text().replace("N: 4", "N: 4, sweep: {data: [a.csv, more/b.csv]}")
    (from_file / "own.yaml").write_text(text)
    for here, start in ((from_file.parent, "mine/"), (from_file, ""), (elsewhere, f"{from_file}/")):
        monkeypatch.chdir(here)
        config = load_config(from_file / "own.yaml")
        check_config(config)
        found = {run.variant: resolve(config, run).settings for run in runs(config)}
        files = {variant: settings["data"] for variant, settings in found.items()}
        assert files == {"cbo_data_a_csv": f"{start}a.csv", "cbo_data_more_b_csv": f"{start}more/b.csv"}
        digest = hashlib.sha256((from_file / "a.csv").read_bytes()).hexdigest()
        assert found["cbo_data_a_csv"]["data_digest"] == digest


def test_a_missing_file_is_refused(from_file):
    (from_file / "table.csv").unlink()
    config = load_config(from_file / "own.yaml")
    assert refused(check_config, config) == ("unreadable", "experiments.own.methods.cbo.data")


def test_a_digest_is_not_written_by_hand(from_file):
    config = load_config(from_file / "own.yaml")
    config["experiments"]["own"]["data_digest"] = "0" * 64
    assert refused(check_config, config) == ("filled-in", "experiments.own.methods.cbo.data_digest")


def test_the_check_of_a_config_names_each_run_once_however_many_curves_there_are(monkeypatch):
    """Where there are a hundred thousand runs, once for each curve would take minutes."""
    named = []
    monkeypatch.setattr(resolving, "RunName", lambda *parts: named.append(parts) or RunName(*parts))
    config = load_config()
    config["experiments"] = {"sine": {**config["experiments"]["sine"], "M": list(range(1, 21))}}
    check_config(config)
    assert named
    assert len(named) == len(set(named))
