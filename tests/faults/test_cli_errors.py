"""The command line: a user's mistake gets one clear line and exit code 2, never a traceback."""

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cbo_pipeline.cli.main import main
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.results import summaries as summarise
from cbo_pipeline.training.loop import train
from tiny import OVERLAY, run_of

SMALL = ["epochs=1", "points=80", "batch_size=40", "snapshots=[]"]
TRAIN = ["train", "--config", str(OVERLAY), "--experiment", "sine", "--method", "cbo", "--output", "{tmp}/run.nc"]


def settings_with(**changes) -> str:
    """The settings of a run as the workflow gives them, spoiled."""
    parts = json.loads(run_of().json)
    for key, value in changes.items():
        if key in parts:
            parts[key] = value
        else:
            parts["settings"][key] = value
    return json.dumps(parts)


# A command, and words of the answer. {tmp} is a folder with the files of the fixture ``folder``.
MISTAKES = [
    (["train", "--output", "{tmp}/run.nc"], "--experiment and --method are needed"),
    ([*TRAIN, "--experiment", "sinus"], "unknown experiment 'sinus'; did you mean sine?"),
    ([*TRAIN, "--method", "sgd"], "unknown variant 'sgd'"),
    ([*TRAIN, "--width", "0"], "methods.cbo.M: 0 is below 1"),
    ([*TRAIN, "--particles", "-3"], "methods.cbo.N: -3 is below 1"),
    ([*TRAIN, "--particles", "1000000000000000"], "methods.cbo.N: a run needs about 180 PB of memory"),
    ([*TRAIN, "--seed", "-1"], "methods.cbo.seeds[0]: -1 is below 0"),
    ([*TRAIN, "--set", "epochs"], "--set epochs: write KEY=VALUE"),
    ([*TRAIN, "--set", "=3"], "--set =3: write KEY=VALUE"),
    ([*TRAIN, "--set", "epochs=ten"], "methods.cbo.epochs: 'ten' is text"),
    ([*TRAIN, "--set", "epochs=[1"], "--set epochs=[1: not valid YAML"),
    ([*TRAIN, "--set", "epoch=10"], "methods.cbo.epoch: cbo on sine takes no such key; did you mean epochs?"),
    ([*TRAIN, "--set", "batch_size=7"], "methods.cbo.batch_size: 7 does not divide the 80 data points"),
    ([*TRAIN, "--set", "dt=1e-3"], "methods.cbo.dt: '1e-3' is text"),
    ([*TRAIN, "--config", "{tmp}/none.yaml"], "none.yaml: cannot be read (No such file or directory)"),
    ([*TRAIN, "--config", "{tmp}"], ": cannot be read (Is a directory)"),
    ([*TRAIN, "--config", "{tmp}/text"], "text: a config is a mapping"),
    ([*TRAIN, "--output", "{tmp}"], ": a folder, where a file is to be written"),
    ([*TRAIN, "--output", "{tmp}/text/run.nc"], "text"),
    (["train", "--settings", "nonsense", "--output", "{tmp}/run.nc"], "settings: not the settings of a run"),
    (["train", "--settings", "[]", "--output", "{tmp}/run.nc"], "settings: not the settings of a run"),
    (["train", "--settings", "{{}}", "--output", "{tmp}/run.nc"], "settings: not the settings of a run"),
    (["train", "--settings", settings_with(problem="sin"), "--output", "{tmp}/run.nc"], "unknown problem 'sin'"),
    (["train", "--settings", settings_with(method="../cli"), "--output", "{tmp}/run.nc"], "unknown method '../cli'"),
    (["train", "--settings", settings_with(settings=[]), "--output", "{tmp}/run.nc"], "settings: not the settings"),
    (
        ["train", "--settings", settings_with(colour="red"), "--output", "{tmp}/run.nc"],
        ".colour: cbo on sine takes",
    ),
    (["train", "--settings", settings_with(epochs=None), "--output", "{tmp}/run.nc"], ".epochs: None is nothing"),
    (["summarise", "{tmp}/none.nc", "--output", "{tmp}/out.nc"], "none.nc: no such file"),
    (["summarise", "{tmp}/text", "--output", "{tmp}/out.nc"], "text: not a readable NetCDF file"),
    (["summarise", "{tmp}", "--output", "{tmp}/out.nc"], ": no such file"),
    (["summarise", "{tmp}/foreign.nc", "--output", "{tmp}/out.nc"], "foreign.nc: not a file of this pipeline"),
    (
        ["summarise", "{tmp}/summary.nc", "--output", "{tmp}/out.nc"],
        "summary.nc: a file of kind 'summary'",
    ),
    (["summarise", "{tmp}/run.nc", "{tmp}/other.nc", "--output", "{tmp}/out.nc"], "other.nc: its settings are not"),
    (["summarise", "{tmp}/run.nc", "--output", "{tmp}/text/out.nc"], "text"),
    (["join", "{tmp}/run.nc", "--output", "{tmp}/out.nc"], "run.nc: a file of kind 'run', not 'summary'"),
    (["figure", "sine_trainig", "{tmp}/summary.nc", "--output", "{tmp}/out.png"], "sine_trainig: no such figure"),
    (["figure", "sine_training", "--output", "{tmp}/out.png"], "sine_training: needs summaries of sine"),
    (["figure", "sine_training", "{tmp}/text", "--output", "{tmp}/out.png"], "text: not a readable NetCDF file"),
    (["figure", "sine_training", "{tmp}/summary.nc", "--output", "{tmp}/out.png"], "adam"),
    (["figure", "diagram_multi_task", "--output", "{tmp}/out.xyz"], "out.xyz"),
    (["figure", "diagram_multi_task", "--output", "{tmp}/out"], "out"),
    (["check", "--config", "{tmp}/none.yaml"], "none.yaml: cannot be read"),
    (["show", "{tmp}/text"], "text: not a readable NetCDF file"),
    (["show", "{tmp}/none.nc"], "none.nc: no such file"),
    (["claims", "{tmp}/text", "--json", "{tmp}/out.json"], "text"),
    (["claims", "{tmp}/none.json", "--json", "{tmp}/out.json"], "none.json"),
    (["record", "--settings", "nonsense", "--output", "{tmp}/out.html"], "settings"),
    (["publish", "--results", "{tmp}/none", "--output", "{tmp}/out"], "none"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "text").write_text("just text")
    for name, run in {"run.nc": run_of(epochs=1), "other.nc": run_of(epochs=2)}.items():
        netcdf.write(runs.dataset(run, train(run)), folder / name)
    netcdf.write(summarise.summarise_curve([folder / "run.nc"]), folder / "summary.nc")
    xr.Dataset({"x": ("t", np.zeros(2))}).to_netcdf(folder / "foreign.nc", engine="netcdf4")
    return folder


def answer(capsys, arguments) -> tuple[int, str]:
    """The exit code and what was said on standard error."""
    try:
        code = main([str(a) for a in arguments])
    except SystemExit as stopped:
        code = stopped.code
    return code, capsys.readouterr().err


@pytest.mark.parametrize(("command", "words"), MISTAKES, ids=[" ".join(c)[:70] for c, _ in MISTAKES])
def test_a_mistake_gets_one_clear_line(folder, capsys, command, words, record_property):
    before = sorted(folder.rglob("*"))
    code, said = answer(capsys, [word.replace("{tmp}", str(folder)).replace("{{}}", "{}") for word in command])
    assert code == 2
    assert words in said
    assert said.startswith("cbo-pipeline: ")
    assert said.count("\n") == 1, said
    assert sorted(folder.rglob("*")) == before
    record_property("refused", "a wrong command line")


PARSED = [
    [],
    ["fly"],
    ["trian"],
    ["train"],
    ["train", "--seed", "one", "--output", "x"],
    ["train", "--width", "1.5", "--output", "x"],
    ["train", "--checkpoint-seconds", "-1", "--output", "x"],
    ["train", "--checkpoint-seconds", "nan", "--output", "x"],
    ["train", "--unknown", "--output", "x"],
    ["summarise", "--output", "x"],
]


@pytest.mark.parametrize("command", PARSED, ids=[" ".join(c) or "nothing" for c in PARSED])
def test_what_the_parser_refuses_ends_with_one_line(capsys, command, record_property):
    code, said = answer(capsys, command)
    assert code == 2
    assert said.startswith("cbo-pipeline: ")
    assert said.endswith("--help)\n")
    assert said.count("\n") == 1, said
    record_property("refused", "a wrong command line")


KEYS = ["epochs", "dt", "N", "M", "seeds", "snapshots", "batches", "initial", "data_seed", "lambda", "x"]
TEXTS = ["1", "0", "-1", "ten", "1e3", ".nan", "[]", "{}", "[1]", "null", "", "[", "&a"]
WORDS = st.one_of(st.sampled_from(KEYS), st.text(max_size=4))
VALUES = st.one_of(st.sampled_from(TEXTS), st.text(max_size=4))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(key=WORDS, value=VALUES)
def test_every_assignment_is_refused_in_one_line_or_runs(capsys, tmp_path_factory, key, value):
    output = tmp_path_factory.mktemp("fuzz") / "run.nc"
    code, said = answer(capsys, [*TRAIN, "--output", output, "--set", *SMALL, f"{key}={value}"])
    assert code in (0, 2)
    assert output.exists() == (code == 0)
    assert "Traceback" not in said
    if code == 2:
        assert said.startswith("cbo-pipeline: ")
        assert said.count("\n") == 1, said


SETTINGS = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 50), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "problem", "method", "settings", "M", "x"]), inner, max_size=4),
    ),
    max_leaves=8,
)


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(value=SETTINGS, key=st.sampled_from(["name", "problem", "method", "settings", "whole"]))
def test_settings_that_are_none_are_refused_in_one_line(capsys, tmp_path_factory, value, key):
    output = tmp_path_factory.mktemp("fuzz") / "run.nc"
    text = json.dumps(value) if key == "whole" else json.dumps({**json.loads(run_of().json), key: value})
    code, said = answer(capsys, ["train", "--settings", text, "--output", output])
    assert code == 2
    assert said.startswith("cbo-pipeline: ")
    assert said.count("\n") == 1, said
