"""The command line: a mistake of the user gets one clear line and exit code 2, no traceback, and changes nothing.

Tests look at the code and the key of an error; the wording of each kind is tested once.
"""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cbo_pipeline.cli import parser
from cbo_pipeline.cli.main import main
from cbo_pipeline.results import netcdf, runs
from cbo_pipeline.results import summaries as summarise
from cbo_pipeline.training.loop import train
from refusals import refusal
from tiny import OVERLAY, run_of

SMALL = ["epochs=1", "points=80", "batch_size=40", "snapshots=[]"]
TRAIN = ["train", "--config", str(OVERLAY), "--experiment", "sine", "--method", "cbo", "--output", "new.nc"]
CBO = "experiments.sine.methods.cbo"
NAME = {"experiment": "sine", "variant": "cbo", "M": 5, "N": 8, "seed": 0}


def settings_with(**changes) -> str:
    """The settings of a run as the workflow gives them, spoiled."""
    parts = json.loads(run_of().json)
    for key, value in changes.items():
        if key in parts:
            parts[key] = value
        else:
            parts["settings"][key] = value
    return json.dumps(parts)


# Options added to a good command for training, the kind of mistake, and the key that is named.
OPTIONS = [
    (["--experiment", "sinus"], "unknown-name", "experiments"),
    (["--experiment", ""], "unknown-name", "experiments"),
    (["--experiment", "Sine"], "unknown-name", "experiments"),
    (["--experiment", "../sine"], "unknown-name", "experiments"),
    (["--experiment", "-1"], "unknown-name", "experiments"),
    (["--method", "sgd"], "unknown-name", "experiments.sine.methods"),
    (["--method", ""], "unknown-name", "experiments.sine.methods"),
    (["--method", "CBO"], "unknown-name", "experiments.sine.methods"),
    (["--method", "hybrid"], "unknown-name", "experiments.sine.methods"),  # left out by tiny.yaml
    (["--seed", "one"], "usage", "--seed"),
    (["--seed", ""], "usage", "--seed"),
    (["--seed", "1.0"], "usage", "--seed"),
    (["--seed", "0x10"], "usage", "--seed"),
    (["--seed"], "usage", "--seed"),
    (["--seed", "-1"], "usage", "--seed"),
    (["--seed", "4294967296"], "out-of-bounds", f"{CBO}.seeds[0]"),
    (["--seed", "9" * 23], "too-large", f"{CBO}.seeds[0]"),
    (["--seed", "9" * 5000], "usage", "--seed"),
    (["--width", "0"], "out-of-bounds", f"{CBO}.M"),
    (["--width", "1.5"], "usage", "--width"),
    (["--width", "wide"], "usage", "--width"),
    (["--width", "9" * 23], "too-large", f"{CBO}.M"),
    (["--particles", "-3"], "out-of-bounds", f"{CBO}.N"),
    (["--particles", "1e3"], "usage", "--particles"),
    (["--particles", "1000000000000000"], "memory", f"{CBO}.N"),
    (["--method", "adam", "--particles", "2"], "does-not-fit", "experiments.sine.methods.adam.N"),
    (["--set"], "usage", "--set"),
    (["--set", "epochs"], "bad-change", "--set epochs"),
    (["--set", "epochs: 3"], "bad-change", "--set epochs: 3"),
    (["--set", ""], "bad-change", "--set "),
    (["--set", "=3"], "bad-change", "--set =3"),
    (["--set", "epochs="], "wrong-type", f"{CBO}.epochs"),
    (["--set", "epochs=ten"], "wrong-type", f"{CBO}.epochs"),
    (["--set", "epochs=2.5"], "wrong-type", f"{CBO}.epochs"),
    (["--set", "epochs=true"], "wrong-type", f"{CBO}.epochs"),
    (["--set", "epochs=null"], "wrong-type", f"{CBO}.epochs"),
    (["--set", "epochs={a: 1}"], "wrong-type", f"{CBO}.epochs"),
    (["--set", "epochs=2020-01-01"], "wrong-type", f"{CBO}.epochs"),
    (["--set", "epochs=0"], "out-of-bounds", f"{CBO}.epochs"),
    (["--set", "epochs=010"], "odd-number", ""),
    (["--set", "epochs=1:30"], "odd-number", ""),
    (["--set", "epochs=[1"], "not-yaml", ""),
    (["--set", "epochs=!!int three"], "not-yaml", ""),
    (["--set", "epochs=!!python/name:os.system"], "not-yaml", ""),
    (["--set", "epochs=*a"], "not-yaml", ""),
    (["--set", "epochs=\0"], "not-yaml", ""),
    (["--set", "epochs=\ud800"], "not-yaml", ""),  # bytes of a shell that are not UTF-8
    (["--set", f"epochs={'[' * 3000}"], "too-deep", ""),
    (["--set", "dt=1e-3"], "wrong-type", f"{CBO}.dt"),
    (["--set", "dt=.nan"], "not-finite", f"{CBO}.dt"),
    (["--set", "epoch=10"], "not-taken", f"{CBO}.epoch"),
    (["--set", "a.b=1"], "not-taken", f"{CBO}.a.b"),
    (["--set", "experiments={}"], "not-taken", f"{CBO}.experiments"),
    (["--set", "data_dir=x"], "not-taken", f"{CBO}.data_dir"),
    (["--set", "gamma=0.5"], "not-taken", f"{CBO}.gamma"),
    (["--set", "batch_size=7"], "does-not-fit", f"{CBO}.batch_size"),
    (["--set", "alpha_max=1.0"], "does-not-fit", f"{CBO}.alpha_max"),
    (["--set", "snapshots=[0, 0]"], "twice", f"{CBO}.snapshots"),
    (["--set", "precision=float16"], "not-an-option", f"{CBO}.precision"),
    (["--set", "epochs=1", "epochs=2"], "twice", "epochs"),
    (["--set", "epochs=1", "--set", "epochs=2"], "twice", "epochs"),
    (["--set", "M=3", "--width", "4"], "conflict", "--set M"),
    (["--set", "N=3", "--particles", "4"], "conflict", "--set N"),
    (["--set", "M=wide"], "wrong-type", f"{CBO}.M"),
    (["--set", "N=[1, 2]"], "wrong-type", "--set N"),
    (["--set", "seeds=3"], "other-option", "--set seeds"),
    (["--set", "grid=[]"], "other-option", "--set grid"),
    (["--set", "method=adam"], "other-option", "--set method"),
    (["--set", "problem=square"], "other-option", "--set problem"),
    (["--set", "from=adam"], "other-option", "--set from"),
    (["--set", "sweep={}"], "other-option", "--set sweep"),
    (["--config", "none.yaml"], "unreadable", ""),
    (["--config", ""], "unreadable", ""),
    (["--config", "."], "unreadable", ""),
    (["--config", "text"], "wrong-type", ""),
    (["--config", "run.nc"], "not-yaml", ""),
    (["--config", "/dev/null"], "wrong-type", ""),
    (["--config", "a\0b"], "unreadable", ""),
    (["--config"], "usage", "--config"),
    (["--settings", "{}"], "conflict", "--experiment"),
    (["--checkpoint-seconds", "-1"], "usage", "--checkpoint-seconds"),
    (["--checkpoint-seconds", "nan"], "usage", "--checkpoint-seconds"),
    (["--checkpoint-seconds", "soon"], "usage", "--checkpoint-seconds"),
    (["--checkpoint", ""], "no-name", ""),
    (["--force", "yes"], "usage", ""),
    (["--sed", "3"], "usage", "--sed"),
    (["extra"], "twice", "--output"),
]

# Whole commands.
COMMANDS = [
    ([], "usage", ""),
    (["fly"], "usage", ""),
    (["trian"], "usage", ""),
    (["--verbose"], "usage", ""),
    (["train"], "usage", "--output"),
    (["train", "--output", "new.nc"], "missing", "--experiment"),
    (["train", "--experiment", "sine", "--output", "new.nc"], "missing", "--experiment"),
    (["train", "--method", "cbo", "--output", "new.nc"], "missing", "--experiment"),
    (["cost", "--experiment", "sine", "--output", "new.json"], "missing", "--experiment"),
    (["cost", "--settings", run_of().json, "--seconds", "nan", "--output", "new.json"], "usage", "--seconds"),
    (["cost", "--settings", run_of().json, "--seconds", "-1", "--output", "new.json"], "usage", "--seconds"),
    (["cost", "--settings", run_of(N=10**12).json, "--output", "new.json"], "memory", f"{CBO}.N"),
    (["train", "--settings", run_of(N=10**12).json, "--output", "new.nc"], "memory", f"{CBO}.N"),
    (["train", "--settings", run_of().json, "--seed", "3", "--output", "new.nc"], "conflict", "--seed"),
    (["train", "--settings", run_of().json, "--set", "epochs=3", "--output", "new.nc"], "conflict", "--set"),
    (["show"], "usage", ""),
    (["show", "run.nc", "other.nc"], "usage", ""),
    (["show", "--colour", "run.nc"], "usage", "--colour"),
    (["plot", "--output", "new.png"], "usage", ""),
    (["plot", "run.nc"], "usage", "--output"),
    (["plot", "run.nc", "run.nc", "--output", "new.png"], "twice", "runs"),
    (["plot", "none.nc", "--output", "new.png"], "no-such-file", ""),
    (["plot", "run.nc", "--output", "new.jpg"], "not-an-option", "--output"),
    (["plot", "run.nc", "--output", "run.nc"], "is-input", "--output"),
    (["plot", "run.nc", "--series", "colour", "--output", "new.png"], "unknown-name", "--series"),
    (["plot", "summary.nc", "--output", "new.png"], "other-kind", "kind"),
    (["check", "--config", "none.yaml"], "unreadable", ""),
    (["check", "extra"], "usage", ""),
    (["reference", "extra"], "usage", ""),
    (["completion", "bash"], "usage", ""),
    (["summarise", "--output", "new.nc"], "which-runs", "runs"),
    (["summarise", "run.nc", "--seeds", "0", "--output", "new.nc"], "which-runs", "runs"),
    (["summarise", "--seeds", "0", "--output", "new.nc"], "which-runs", "runs"),
    (["summarise", "--seeds", "0", "--folder", ".", "--output", "new.nc"], "which-runs", "runs"),
    (["summarise", "run.nc", "run.nc", "--output", "new.nc"], "twice", "seed"),
    (["summarise", "run.nc", "other.nc", "--output", "new.nc"], "other-settings", "settings"),
    (["summarise", "run.nc", "adam.nc", "--output", "new.nc"], "other-settings", "settings"),
    *[
        (["summarise", "--seeds", text, "--folder", ".", "--sizes", "M5_N8", "--output", "new.nc"], "bad-list",
         "--seeds")
        for text in ("", "x", "0-", "-1", "3-1", "0,,1", "0,0", "0-2,1", "1.5", "0 1", "0-99999999999")
    ],
    (["summarise", "--seeds", "0", "--folder", ".", "--sizes", "M5_N8", "--output", "new.nc"], "no-such-file", ""),
    (["join", "--output", "new.nc"], "usage", ""),
    (["join", "summary.nc", "summary.nc", "--output", "new.nc"], "twice", "curve"),
    (["join", "summary.nc", "square.nc", "--output", "new.nc"], "other-experiment", "experiment"),
    (["figure", "--output", "new.png"], "usage", ""),
    (["figure", "sine_trainig", "summary.nc", "--output", "new.png"], "unknown-name", "label"),
    (["figure", "fig2", "summary.nc", "--output", "new.png"], "unknown-name", "label"),
    (["figure", "", "--output", "new.png"], "unknown-name", "label"),
    (["figure", "../sine", "--output", "new.png"], "unknown-name", "label"),
    (["figure", "_overview", "--output", "new.png"], "unknown-name", "label"),
    (["figure", "sine_training", "--output", "new.png"], "missing", "summaries"),
    (["figure", "sine_training", "square.nc", "--output", "new.png"], "missing", "summaries"),
    (["figure", "sine_training", "summary.nc", "--output", "new.png"], "missing", "adam"),
    (["figure", "sine_overview", "summary.nc", "summary.nc", "--output", "new.png"], "twice", "curve"),
    (["figure", "other_overview", "summary.nc", "--output", "new.png"], "missing", "summaries"),
    (["figure", "readings", "--output", "new.png"], "missing", "--readings"),
    (["figure", "sine_training", "--readings", "none.json", "--output", "new.png"], "unknown-name", "label"),
    (["figure", "meanfield_diagram", "--output", "new.xyz"], "not-an-option", "--output"),
    (["figure", "meanfield_diagram", "--output", "new"], "not-an-option", "--output"),
    (["figure", "meanfield_diagram", "--output", "new.PNG"], "not-an-option", "--output"),
    (["figure", "meanfield_diagram", "--output", ".png"], "not-an-option", "--output"),
    (["figure", "meanfield_diagram", "--output", "new.png", "new.jpg"], "not-an-option", "--output"),
    (["figure", "meanfield_diagram", "--output"], "usage", "--output"),
    (["animate", "summary.nc", "--output", "new.gif"], "other-experiment", "summary"),
    (["animate", "summary.nc", "--output", "new.png"], "not-an-option", "--output"),
    (["check-spread", "--output", "new.json"], "usage", ""),
    (["check-spread", "run.nc", "--output", "new.json"], "missing", "keep_ensembles"),
    (["check-spread", "summary.nc", "--output", "new.json"], "other-kind", "kind"),
    (["claims", "--json", "new.json"], "usage", ""),
    (["claims", "summary.nc", "summary.nc", "--json", "new.json"], "twice", ""),
    (["readings", "--results", "none", "--json", "new.json"], "no-results", "--results"),
    (["check", "--readings", "--results", "none"], "no-results", "--results"),
    (["check", "--readings", "--results", "text"], "no-results", "--results"),
    (["check", "--results", "text"], "missing", "--results"),
    (["check", "--lacking", "none"], "no-results", "--lacking"),
    (["check", "--lacking", "text"], "no-results", "--lacking"),
    (["readings", "--results", "text", "--json", "new.json"], "no-results", "--results"),
    (["readings", "--file", "none.yaml", "--json", "new.json"], "no-results", "--results"),
    (["record", "--output", "new.html"], "usage", "--settings"),
    (["record", "--settings", "nonsense", "--output", "new.html"], "not-json", "--settings"),
    (["record", "--settings", "[" * 100_000, "--output", "new.html"], "not-json", "--settings"),
    (["record", "--settings", "3", "--output", "new.html"], "wrong-type", "--settings"),
    (["page", "--results", "none", "--output", "new.html"], "no-results", ""),
    (["redraw", "none", "--output", "new"], "no-results", ""),
    (["redraw", "text", "--output", "new"], "no-results", ""),
    (["compare", "none", "."], "no-such-folder", ""),
    (["compare", ".", "text"], "no-such-folder", ""),
    (["compare", "."], "usage", ""),
    (["publish", "--results", "none", "--output", "new"], "no-such-file", ""),
    (["publish", "--output", "new"], "no-such-file", ""),
    (["publish"], "usage", "--output"),
    (["article", "--results", "none", "--output", "new.html"], "no-results", ""),
    (["article"], "usage", "--output"),
    (["predict", "none.nc", "--data", "none.csv", "--output", "new.csv"], "no-such-file", ""),
    (["predict", "text", "--data", "none.csv", "--output", "new.csv"], "not-netcdf", ""),
    (["predict", "run.nc"], "usage", "--data"),
    (["verify", "none"], "no-such-folder", ""),
    (["verify", "text"], "no-such-folder", ""),
    (["verify", "empty"], "no-results", ""),
    (["verify", ".", "--config", "none.yaml"], "unreadable", ""),
    (["adopt", "none"], "no-runs", ""),
    (["adopt", "empty"], "no-runs", ""),
    (["adopt", ".", "--epochs", "0"], "usage", "--epochs"),
    (["adopt", ".", "--epochs", "all"], "usage", "--epochs"),
    (["fetch-mnist", "--data-dir", "text"], "no-such-place", ""),
    (["fetch-mnist", "--data-dir"], "usage", "--data-dir"),
]  # fmt: skip

# What the workflow hands to its jobs, spoiled.
SETTINGS = [
    ("", "not-a-run", "settings"),
    ("null", "not-a-run", "settings"),
    ("1", "not-a-run", "settings"),
    ("[]", "not-a-run", "settings"),
    ("{}", "not-a-run", "settings"),
    ("nonsense", "not-a-run", "settings"),
    ("[" * 100_000, "not-a-run", "settings"),
    ('{"name": 1}', "not-a-run", "settings"),
    (run_of().json + "x", "not-a-run", "settings"),
    (run_of().json.replace('"dt":0.1', '"dt":0.1,"dt":0.2'), "not-a-run", "settings"),
    (run_of().json.replace('"dt":0.1', '"dt":NaN'), "not-finite", f"{CBO}.dt"),
    (settings_with(settings=[]), "not-a-run", "settings"),
    (settings_with(settings={}), "missing", f"{CBO}.alpha"),
    (settings_with(problem="sin"), "unknown-name", f"{CBO}.problem"),
    (settings_with(problem=None), "unknown-name", f"{CBO}.problem"),
    (settings_with(problem=["sine"]), "unknown-name", f"{CBO}.problem"),
    (settings_with(method="../cli"), "unknown-name", f"{CBO}.method"),
    (settings_with(method=3), "unknown-name", f"{CBO}.method"),
    (settings_with(colour="red"), "not-taken", f"{CBO}.colour"),
    (settings_with(epochs=None), "wrong-type", f"{CBO}.epochs"),
    (settings_with(epochs="3"), "wrong-type", f"{CBO}.epochs"),
    (settings_with(epochs=1e400), "not-finite", f"{CBO}.epochs"),
    (settings_with(name={}), "not-a-run", "settings"),
    (settings_with(name={**NAME, "x": 1}), "not-a-run", "settings"),
    (settings_with(name={**NAME, "seed": "0"}), "wrong-type", f"{CBO}.seeds[0]"),
    (settings_with(name={**NAME, "M": 10**30}), "too-large", f"{CBO}.M"),
    (settings_with(name={**NAME, "experiment": "../../x"}), "bad-name", "settings.name.experiment"),
    (settings_with(name={**NAME, "variant": "$(id)"}), "bad-name", "settings.name.variant"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Good files, in a folder in which the commands run."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "text").write_text("just text")
    (folder / "empty").mkdir()
    for name, run in {"run.nc": run_of(epochs=1), "other.nc": run_of(epochs=2), "adam.nc": run_of("adam")}.items():
        netcdf.write(runs.dataset(run, train(run)), folder / name)
    netcdf.write(summarise.summarise_curve([folder / "run.nc"]), folder / "summary.nc")
    data = summarise.read(folder / "summary.nc")
    data.attrs["experiment"] = "square"
    netcdf.write(data, folder / "square.nc")
    return folder


@pytest.fixture(autouse=True)
def there(folder, monkeypatch):
    monkeypatch.chdir(folder)


def shortened(words) -> str:
    return ascii(" ".join(words))[1:-1][:70] or "nothing"


@pytest.mark.parametrize(("options", "code", "key"), OPTIONS, ids=[shortened(words) for words, _, _ in OPTIONS])
def test_a_wrong_option_is_refused(folder, capsys, options, code, key, record_property):
    error = refusal(capsys, [*TRAIN, *options], folder)
    assert (error.code, error.key) == (code, key), error
    record_property("refused", "a wrong option")


@pytest.mark.parametrize(("command", "code", "key"), COMMANDS, ids=[shortened(words) for words, _, _ in COMMANDS])
def test_a_wrong_command_is_refused(folder, capsys, command, code, key, record_property):
    error = refusal(capsys, command, folder)
    assert (error.code, error.key) == (code, key), error
    record_property("refused", "a wrong command")


@pytest.mark.parametrize(("text", "code", "key"), SETTINGS, ids=range(len(SETTINGS)))
def test_settings_that_no_run_can_have_are_refused(folder, capsys, text, code, key, record_property):
    for command, output in (("train", "new.nc"), ("cost", "new.json")):
        error = refusal(capsys, [command, "--settings", text, "--output", output], folder)
        assert (error.code, error.key) == (code, key), error
        record_property("refused", "wrong settings of a job")


# Each wording once.
IN_WORDS = {
    ("trian",): "no command 'trian'; did you mean train? (see cbo-pipeline --help)",
    (*TRAIN, "--sed", "3"): "unknown: --sed; did you mean --seed? (see cbo-pipeline --help)",
    (*TRAIN, "--seed", "one"): "argument --seed: invalid seed value: 'one' (see cbo-pipeline train --help)",
    (*TRAIN, "--experiment", "sinus"): "experiments: unknown experiment 'sinus'; did you mean sine?",
    (*TRAIN, "--set", "epochs=1", "epochs=2"): "--set epochs: given twice",
    ("train", "--output", "x"): "--experiment and --method are needed, such as --experiment sine --method cbo",
    ("show",): "missing: file (see cbo-pipeline show --help)",
    ("figure", "fig2", "--output", "x.png"): "fig2: not the label of a figure; did you mean sine_training?",
    ("verify", "none"): "none: no such folder of results; is the name right?",
    (*TRAIN, "--output", "text"): "text: there already, and not made by this pipeline (or damaged); name another"
    " file, or add --force to replace it",
    (*TRAIN, "--output", "summary.nc"): "summary.nc: there already, a summary and not a run; name another file, or"
    " add --force to replace it",
    (*TRAIN, "--output", "new/"): "new/: a folder, where a file is to be written; name a file in it",
    (*TRAIN, "--output", "/dev/null"): "/dev/null: a device or pipe, not a file; name a file",
    (*TRAIN, "--checkpoint", "text"): "text: not a checkpoint; name another file with --checkpoint",
    ("join", "summary.nc", "--output", "summary.nc"): "summary.nc: an input of the same command; name another file",
}


@pytest.mark.parametrize("command", IN_WORDS, ids=shortened)
def test_a_refusal_in_words(folder, capsys, command):
    assert str(refusal(capsys, command, folder)) == IN_WORDS[command]


def test_every_command_is_among_those_that_were_refused():
    """A command that is added later is tried too."""
    tried = {words[0] for words, _, _ in COMMANDS if words}
    assert set(parser.build().commands) - {"check-barycentres", "check-rule", "check-unseen"} <= tried


def answer(capsys, arguments) -> tuple[int, str]:
    """The exit code and what was said on standard error."""
    code = main([str(a) for a in arguments])
    return code, capsys.readouterr().err


def test_an_unexpected_exception_is_told_as_a_bug(tmp_path, capsys, monkeypatch):
    """One line that says so and where the traceback is; a mistake of the user is never reported so."""

    def broken():
        raise ZeroDivisionError("a mistake\nof ours")

    monkeypatch.setattr(parser, "build", broken)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    code, said = answer(capsys, ["check"])
    (file,) = tmp_path.iterdir()
    assert code == 70
    assert said == (
        "cbo-pipeline: this is a bug in cbo_pipeline (ZeroDivisionError: a mistake of ours); please report it as"
        f" described in CONTRIBUTING.md; the traceback is in {file}\n"
    )
    assert "in broken" in file.read_text()


KEYS = ["epochs", "dt", "N", "M", "seeds", "snapshots", "batches", "initial", "data_seed", "lambda", "x"]
TEXTS = ["1", "0", "-1", "ten", "1e3", ".nan", "[]", "{}", "[1]", "null", "", "[", "&a"]
WORDS = st.one_of(st.sampled_from(KEYS), st.text(max_size=4))
VALUES = st.one_of(st.sampled_from(TEXTS), st.text(max_size=4))


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
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


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-2, 50), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["name", "problem", "method", "settings", "M", "x"]), inner, max_size=4),
    ),
    max_leaves=8,
)


@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(value=JSON, key=st.sampled_from(["name", "problem", "method", "settings", "whole"]))
def test_settings_that_are_none_are_refused_in_one_line(capsys, tmp_path_factory, value, key):
    output = tmp_path_factory.mktemp("fuzz") / "run.nc"
    text = json.dumps(value) if key == "whole" else json.dumps({**json.loads(run_of().json), key: value})
    code, said = answer(capsys, ["train", "--settings", text, "--output", output])
    assert code == 2
    assert said.startswith("cbo-pipeline: ")
    assert said.count("\n") == 1, said
