"""Bad configs: every one is refused before anything starts, in one line that begins with the key."""

import subprocess
import sys
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cbo_pipeline.cli.main import main
from cbo_pipeline.config import check_config, load_config, memory, resolve, runs
from cbo_pipeline.config.keys import GRID_KEYS, run_keys
from cbo_pipeline.config.schema import schema
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.results import job_times, netcdf, summaries
from cbo_pipeline.results import runs as run_files
from cbo_pipeline.results.summaries import summarise_curve
from cbo_pipeline.training.loop import train
from tiny import OVERLAY, environment, run_of

E, C, A = "experiments.sine", "experiments.sine.methods.cbo", "experiments.sine.methods.adam"


def top(text):
    return f"{{{text}}}"


def sine(text):
    return f"experiments: {{sine: {{{text}}}}}"


def cbo(text):
    return sine(f"methods: {{cbo: {{{text}}}}}")


def adam(text):
    return sine(f"methods: {{adam: {{{text}}}}}")


# A config laid over tests/tiny.yaml, the kind of mistake, and the key that is named.
TABLE = [
    # The whole file.
    ("experiments: {sine: null}", "empty", "experiments"),
    ("experiments: null", "wrong-type", "experiments"),
    ("experiments: 3", "wrong-type", "experiments"),
    ("experiments: [sine]", "wrong-type", "experiments"),
    (top("data_dir: 3"), "wrong-type", "data_dir"),
    (top("data_dir: ''"), "empty", "data_dir"),
    (top("datadir: data"), "unknown-key", "datadir"),
    (top("threads: 4"), "unknown-key", "threads"),
    (top("1: 2"), "bad-name", "the config"),
    (top("null: 2"), "bad-name", "the config"),
    ("experiments: {Sine: {methods: {cbo: {}}}}", "bad-name", "experiments"),
    ("experiments: {'../x': {methods: {cbo: {}}}}", "bad-name", "experiments"),
    ("experiments: {'$(id)': {methods: {cbo: {}}}}", "bad-name", "experiments"),
    *(
        (f"experiments: {{{stage}: {{problem: sine, methods: {{cbo: {{}}}}}}}}", "bad-name", f"experiments.{stage}")
        for stage in job_times.STAGES
    ),
    ("experiments: {other: {methods: {cbo: {}}}}", "unknown-name", "experiments.other"),
    ("experiments: {other: {problem: sin, methods: {cbo: {}}}}", "unknown-name", "experiments.other.problem"),
    ("experiments: {other: {problem: sine}}", "missing", "experiments.other.methods"),
    ("experiments: {other: {problem: sine, methods: {}}}", "empty", "experiments.other.methods"),
    ("experiments: {other: {problem: sine, methods: {cbo: null}}}", "unknown-name", "experiments.other.methods.cbo"),
    ("experiments: {other: {problem: [sine], methods: {cbo: {}}}}", "wrong-type", "experiments.other.problem"),
    ("experiments: {other: {problem: sine, methods: {cbo: {N: 5}}}}", "missing", "experiments.other.methods.cbo"),
    ("experiments: {2024-01-01: {}}", "bad-name", "experiments"),
    # Methods.
    (sine("methods: 1"), "wrong-type", f"{E}.methods"),
    (sine("methods: {cbo: 1}"), "wrong-type", C),
    (sine("methods: {CBO: {N: 3}}"), "bad-name", f"{E}.methods"),
    (sine("methods: {cbos: {N: 3}}"), "unknown-name", f"{E}.methods.cbos"),
    (sine("methods: {fast: {N: 3, method: sgd}}"), "unknown-name", f"{E}.methods.fast.method"),
    (sine("methods: {fast: {N: 3, method: 7}}"), "wrong-type", f"{E}.methods.fast.method"),
    (sine("methods: {fast: {method: cbo, N: 3}}"), "missing", f"{E}.methods.fast.alpha"),
    (sine("methods: {'a;rm -rf /': {method: cbo}}"), "bad-name", f"{E}.methods"),
    # Types.
    (sine("epochs: ten"), "wrong-type", f"{E}.epochs"),
    (sine("epochs: 1e3"), "wrong-type", f"{E}.epochs"),
    (sine("epochs: 10.0"), "wrong-type", f"{E}.epochs"),
    (sine("epochs: true"), "wrong-type", f"{E}.epochs"),
    (sine("epochs: [1]"), "wrong-type", f"{E}.epochs"),
    (sine("epochs: {a: 1}"), "wrong-type", f"{E}.epochs"),
    (sine("epochs: null"), "wrong-type", f"{E}.epochs"),
    (sine("epochs: 2024-01-01"), "wrong-type", f"{E}.epochs"),
    (cbo("dt: 1e-3"), "wrong-type", f"{C}.dt"),
    (cbo("dt: [0.1]"), "wrong-type", f"{C}.dt"),
    (cbo("alpha: .nan"), "not-finite", f"{C}.alpha"),
    (cbo("alpha: .inf"), "not-finite", f"{C}.alpha"),
    (cbo("alpha_max: -.inf"), "not-finite", f"{C}.alpha_max"),
    (sine("precision: float16"), "not-an-option", f"{E}.precision"),
    (sine("precision: 32"), "not-an-option", f"{E}.precision"),
    (sine("batches: shuffle"), "not-an-option", f"{E}.batches"),
    (sine("scaling: MeanField"), "not-an-option", f"{E}.scaling"),
    (cbo("initial: normal"), "not-an-option", f"{C}.initial"),
    (cbo("reported: best"), "not-an-option", f"{C}.reported"),
    (sine("snapshots: 10"), "wrong-type", f"{E}.snapshots"),
    (sine("snapshots: [1, two]"), "wrong-type", f"{E}.snapshots[1]"),
    (sine("snapshots: [-1]"), "out-of-bounds", f"{E}.snapshots[0]"),
    (sine("snapshots: [1, 1]"), "twice", f"{E}.snapshots"),
    (sine("data_seed: zero"), "wrong-type", f"{E}.data_seed"),
    (sine("data_seed: -1"), "out-of-bounds", f"{E}.data_seed"),
    # Bounds.
    (sine("epochs: 0"), "out-of-bounds", f"{E}.epochs"),
    (sine("epochs: -5"), "out-of-bounds", f"{E}.epochs"),
    (sine("epochs: 100000000000"), "out-of-bounds", f"{E}.epochs"),
    (sine("batch_size: 0"), "out-of-bounds", f"{E}.batch_size"),
    (sine("batch_size: 30"), "does-not-fit", f"{C}.batch_size"),
    (sine("batch_size: 160"), "does-not-fit", f"{C}.batch_size"),
    (sine("points: 1"), "out-of-bounds", f"{E}.points"),
    (sine("label_noise: -0.1"), "out-of-bounds", f"{E}.label_noise"),
    (cbo("dt: 0"), "out-of-bounds", f"{C}.dt"),
    (cbo("dt: -0.1"), "out-of-bounds", f"{C}.dt"),
    (cbo("dt: 1.5"), "out-of-bounds", f"{C}.dt"),
    (cbo("alpha: 0"), "out-of-bounds", f"{C}.alpha"),
    (cbo("alpha_factor: 0.5"), "out-of-bounds", f"{C}.alpha_factor"),
    (cbo("alpha_every: 0"), "out-of-bounds", f"{C}.alpha_every"),
    (cbo("lambda: 0"), "out-of-bounds", f"{C}.lambda"),
    (cbo("sigma_squared: -1"), "out-of-bounds", f"{C}.sigma_squared"),
    (cbo("initial_bound: 0"), "out-of-bounds", f"{C}.initial_bound"),
    (cbo("initial_bound: 1.0e+300"), "out-of-bounds", f"{C}.initial_bound"),
    (adam("beta1: 1"), "out-of-bounds", f"{A}.beta1"),
    (adam("beta2: -0.1"), "out-of-bounds", f"{A}.beta2"),
    (adam("delta: 0"), "out-of-bounds", f"{A}.delta"),
    # Sizes, grids, seeds.
    (sine("M: 0"), "out-of-bounds", f"{E}.M"),
    (sine("M: []"), "empty", f"{E}.M"),
    (sine("M: [5, 5]"), "twice", f"{E}.M"),
    (sine("M: [5, -1]"), "out-of-bounds", f"{E}.M[1]"),
    (sine("M: wide"), "wrong-type", f"{E}.M"),
    (sine("M: 1e2"), "wrong-type", f"{E}.M"),
    (sine("M: 5.0"), "wrong-type", f"{E}.M"),
    (cbo("N: [8, null]"), "wrong-type", f"{C}.N[1]"),
    (adam("N: 2"), "does-not-fit", f"{A}.N"),
    (cbo("grid: []"), "empty", f"{C}.grid"),
    (cbo("grid: [{M: 5}]"), "missing", f"{C}.grid[0].N"),
    (cbo("grid: [{M: 5, N: 8, K: 1}]"), "unknown-key", f"{C}.grid[0].K"),
    (cbo("grid: [{M: [], N: 8}]"), "empty", f"{C}.grid[0].M"),
    (cbo("grid: {M: 5, N: 8}"), "wrong-type", f"{C}.grid"),
    (sine("seeds: 0"), "out-of-bounds", f"{E}.seeds"),
    (sine("seeds: []"), "empty", f"{E}.seeds"),
    (sine("seeds: [1, 2, 1]"), "twice", f"{E}.seeds"),
    (sine("seeds: [-1]"), "out-of-bounds", f"{E}.seeds[0]"),
    (sine("seeds: 2.0"), "wrong-type", f"{E}.seeds"),
    (sine("seeds: 10000000"), "out-of-bounds", f"{E}.seeds"),
    # Keys nobody takes.
    (sine("epoch: 3"), "unknown-key", f"{E}.epoch"),
    (sine("gamma: 0.7"), "not-taken", f"{E}.gamma"),
    (cbo("beta1: 0.9"), "not-taken", f"{C}.beta1"),
    (adam("alpha: 1.0"), "not-taken", f"{A}.alpha"),
    (cbo("sigma: 1.0"), "unknown-key", f"{C}.sigma"),
    (cbo("'__class__': 1"), "unknown-key", f"{C}.__class__"),
    # More than a machine holds: refused with the estimate.
    (cbo("N: 1000000000000"), "memory", f"{C}.N"),
    (sine("M: 1000000000000"), "memory", f"{C}.M"),
    (sine("points: 1000000000000, batch_size: 40"), "memory", f"{C}.points"),
    (cbo(f"N: 1{'0' * 400}"), "too-large", f"{C}.N"),
    (cbo("grid: [{M: 5, N: 8}, {M: 100000000, N: 100000}]"), "memory", f"{C}.M"),
    # Settings that do not fit together.
    (cbo("alpha_max: 1.0"), "does-not-fit", f"{C}.alpha_max"),
    (cbo("alpha: 1.0e+8"), "does-not-fit", f"{C}.alpha_max"),
    (sine("snapshots: [0, 4]"), "never-reached", f"{E}.snapshots"),
    (sine("keep_ensembles: [4]"), "never-reached", f"{E}.keep_ensembles"),
    (cbo("snapshots: [100]"), "never-reached", f"{C}.snapshots"),
    (cbo("grid: [{M: 5, N: 8}], M: 5"), "conflict", f"{C}.M"),
    (sine("grid: [{M: 5, N: 8}], N: 5"), "conflict", f"{E}.N"),
    (adam("method: hybrid, gamma: 0.5, N: 8, from: cbo, tasks: 3"), "not-taken", f"{A}.tasks"),
    (
        "experiments: {other: {problem: multi_task, methods: {adam: {from: sine/adam}}, tasks: 1, M: 2, N: 1,"
        " seeds: 1, epochs: 1, points: 80, label_noise: 0.0, batch_size: 40}}",
        "no-gradients",
        "experiments.other.methods.adam",
    ),
    # Huge numbers.
    (cbo(f"alpha: 1{'0' * 400}"), "too-large", f"{C}.alpha"),
    (cbo("alpha: 1.0e+400"), "not-finite", f"{C}.alpha"),
    (sine(f"data_seed: 1{'0' * 30}"), "too-large", f"{E}.data_seed"),
    (cbo("alpha_every: 10000000000000000000"), "too-large", f"{C}.alpha_every"),
    # Records.
    (sine("record_every: 0"), "out-of-bounds", f"{E}.record_every"),
    (sine("record_first: -1"), "out-of-bounds", f"{E}.record_first"),
    (sine("record_every: all"), "wrong-type", f"{E}.record_every"),
    (sine("keep_ensembles: all"), "wrong-type", f"{E}.keep_ensembles"),
    # The variant that one starts from.
    (cbo("from: cbx"), "unknown-name", f"{C}.from"),
    (cbo("from: cbo"), "loop", f"{C}.from"),
    (cbo("from: sine/cbo"), "loop", f"{C}.from"),
    (cbo("from: [adam]"), "wrong-type", f"{C}.from"),
    (cbo("from: ''"), "bad-name", f"{C}.from"),
    (cbo("from: a/b/c"), "bad-name", f"{C}.from"),
    (cbo("from: nowhere/cbo"), "unknown-name", f"{C}.from"),
    (sine("methods: {a: {from: b}, b: {from: a}}"), "loop", f"{E}.methods.b.from"),
    (sine("from: square"), "unknown-key", f"{E}.from"),
    # Sweeps.
    (cbo("sweep: {}"), "empty", f"{C}.sweep"),
    (cbo("sweep: [alpha]"), "wrong-type", f"{C}.sweep"),
    (cbo("sweep: {alpha: 3.0}"), "wrong-type", f"{C}.sweep.alpha"),
    (cbo("sweep: {alfa: [3.0]}"), "unknown-key", f"{C}.sweep.alfa"),
    (cbo("sweep: {alpha: [1e3]}"), "wrong-type", f"{C}.sweep.alpha[0]"),
    (cbo("sweep: {alpha: [1.0, 0]}"), "out-of-bounds", f"{C}.sweep.alpha[1]"),
    (cbo("sweep: {alpha: [10, 10.0]}"), "twice", f"{C}.sweep.alpha"),
    (cbo("sweep: {seeds: [-1]}"), "out-of-bounds", f"{C}.sweep.seeds[0][0]"),
    (cbo("sweep: {beta1: [0.9]}"), "not-taken", f"{E}.methods.cbo_beta1_0p9.beta1"),
    (sine("sweep: {alpha: [1.0]}"), "unknown-key", f"{E}.sweep"),
    # Which experiments, and what else is said for all of them.
    (top("only_experiments: sine"), "wrong-type", "only_experiments"),
    (top("only_experiments: []"), "empty", "only_experiments"),
    (top("only_experiments: [sinus]"), "unknown-name", "only_experiments[0]"),
    (top("only_experiments: [sine, sine]"), "twice", "only_experiments"),
    (top("plugins: 3"), "wrong-type", "plugins"),
    (top("plugins: ''"), "empty", "plugins"),
    (top("plugins: nowhere"), "unreadable", "plugins"),
    (top("families: {}"), "unknown-key", "families"),
    ("experiments: {sinus: null}", "unknown-name", "experiments.sinus"),
    (sine("methods: {cbx: null}"), "unknown-name", f"{E}.methods.cbx"),
    (sine(f"methods: {{{'a' * 101}: {{from: cbo}}}}"), "bad-name", f"{E}.methods"),
    (sine("expect_no_consensus: maybe"), "wrong-type", f"{E}.expect_no_consensus"),
    (sine("outer_bias: 1"), "wrong-type", f"{E}.outer_bias"),
]


PAPER = tuple(load_config()["experiments"])


def tiny_config(*overlays) -> dict:
    """tests/tiny.yaml and what is laid over it, with no other experiment of the paper."""
    config = load_config(OVERLAY, *overlays)
    experiments = config.get("experiments")
    if isinstance(experiments, dict):
        kept = {name: own for name, own in experiments.items() if name == "sine" or name not in PAPER}
        config["experiments"] = kept
    return config


def config_with(text: str, folder) -> dict:
    path = folder / "other.yaml"
    path.write_text(text, encoding="utf-8")
    return tiny_config(path)


def test_the_tiny_config_is_good():
    check_config(tiny_config())
    assert len(TABLE) == len({text for text, _, _ in TABLE})


@pytest.mark.parametrize(("text", "code", "key"), TABLE, ids=[text[:60] for text, _, _ in TABLE])
def test_a_bad_config_is_refused_in_one_line_that_names_the_key(tmp_path, text, code, key, record_property):
    with pytest.raises(ConfigError) as refused:
        check_config(config_with(text, tmp_path))
    line = str(refused.value)
    assert (refused.value.code, refused.value.key) == (code, key), line
    assert line.startswith(f"{key}: ")
    assert "\n" not in line
    assert len(line) < 300
    record_property("refused", "a bad config")


# Each wording once.
IN_WORDS = {
    "experiments: null": "experiments: None is nothing, not a mapping",
    "experiments: {sine: null}": "experiments: empty; at least one entry is needed",
    top("datadir: data"): "datadir: unknown key; did you mean data_dir?",
    top("1: 2"): "the config: the key 1 is a number, not text; write it in quotes",
    "experiments: {Sine: {methods: {cbo: {}}}}": "experiments: 'Sine' is not a valid name (lower-case letters, digits"
    " and _, a letter first, at most 100)",
    "experiments: {sinus: null}": "experiments.sinus: there is nothing of this name to leave out; did you mean sine?",
    sine("methods: {cbos: {N: 3}}"): f"{E}.methods.cbos: unknown method 'cbos'; did you mean cbo?",
    sine("methods: {fast: {method: cbo, N: 3}}"): f"{E}.methods.fast.alpha: missing (Inverse temperature of the"
    " consensus weights at the start)",
    cbo(
        "dt: '0.1'"
    ): f"{C}.dt: '0.1' is text, not a number (write it without quotes; --config makes text of numbers in"
    " braces: use --configfile)",
    cbo("dt: 1e-3"): f"{C}.dt: '1e-3' is text, not a number (YAML reads 1e-3 as text: write 1.0e-3)",
    sine(
        "M: 1e2"
    ): f"{E}.M: '1e2' is text, not an integer or a list of integers (YAML reads 1e3 as text: write 1000)",
    cbo("alpha: .nan"): f"{C}.alpha: nan is not a finite number",
    sine("precision: float16"): f"{E}.precision: 'float16' is not one of float32, float64",
    sine("epochs: 0"): f"{E}.epochs: 0 is below 1",
    sine("epochs: 100000000000"): f"{E}.epochs: 100000000000 is above 10000000",
    cbo("dt: 0"): f"{C}.dt: 0 is not above 0",
    adam("beta1: 1"): f"{A}.beta1: 1 is not below 1",
    sine("snapshots: [1, 1]"): f"{E}.snapshots: [1, 1] has an entry twice",
    sine("snapshots: [0, 4]"): f"{E}.snapshots: epoch 4 is beyond the 3 epochs of training",
    sine("batch_size: 30"): f"{C}.batch_size: 30 does not divide the 80 data points",
    sine("gamma: 0.7"): f"{E}.gamma: neither the problem nor a method of sine takes it",
    cbo("beta1: 0.9"): f"{C}.beta1: cbo on sine takes no such key",
    cbo("alpha_max: 1.0"): f"{C}.alpha_max: 1 is below alpha, 100000",
    cbo("grid: [{M: 5, N: 8}], M: 5"): f"{C}.M: given together with a grid, which sets M and N",
    cbo("from: cbo"): f"{C}.from: the variants start from each other (sine/cbo -> sine/cbo)",
    cbo(f"N: 1{'0' * 400}"): f"{C}.N: a number of more than 30 digits is too large",
    cbo("N: 1000000000000"): f"{C}.N: a run needs about 180 TB of memory, but only about 2.5 GB is available (where"
    " other machines train, CBO_MEMORY_GB says how much they have)",
}


@pytest.mark.parametrize("text", IN_WORDS, ids=[text[:60] for text in IN_WORDS])
def test_a_complaint_in_words(tmp_path, text, monkeypatch):
    monkeypatch.setenv("CBO_MEMORY_GB", "2.5")
    with pytest.raises(ConfigError) as refused:
        check_config(config_with(text, tmp_path))
    assert str(refused.value) == IN_WORDS[text]


UNREADABLE = {
    "not YAML": "experiments: {sine: [",
    "a list": "- a\n- b\n",
    "a number": "3\n",
    "empty": "",
    "tabs": "experiments:\n\tsine: 1\n",
    "an object of Python": "experiments: !!python/object/apply:os.system ['true']\n",
    "one key refers to itself": "experiments: &a {sine: {methods: *a}}\n",
    "bytes": b"\xff\xfe\x00experiments",
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_is_no_config_is_refused_by_name(tmp_path, capsys, content, record_property):
    path = tmp_path / "strange name.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert main(["check", "--config", str(path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("cbo-pipeline: ")
    assert said.count("\n") == 1, said
    assert "strange name.yaml" in said or "nested too deeply" in said or "unknown problem" in said
    record_property("refused", "an unreadable config")


def test_the_memory_of_a_run_is_estimated_on_the_safe_side():
    """Against a run in a process of its own, at a size where the particles count."""
    run = run_of(N=1_500_000, epochs=1, points=2, batch_size=2)
    code = (
        "import re, sys; from cbo_pipeline.config import Run; from cbo_pipeline.training.loop import train;"
        "train(Run.from_json(sys.argv[1]));"
        # Not getrusage, whose peak begins with that of the process that started this one.
        "print(1024 * int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, run.json], env=environment(), capture_output=True, text=True, check=True
    )
    assert 1 / 3 < int(done.stdout) / memory.estimate(run) < 1


def test_other_machines_may_have_more_memory(monkeypatch, tmp_path):
    monkeypatch.setenv("CBO_MEMORY_GB", "1000000")
    check_config(config_with(cbo("N: 1000000000000"), tmp_path))
    monkeypatch.setenv("CBO_MEMORY_GB", "much")
    with pytest.raises(ConfigError, match="CBO_MEMORY_GB: 'much' is not a number of gigabytes"):
        check_config(tiny_config())


def test_many_seeds_are_checked_in_no_time(tmp_path):
    config = config_with(sine("seeds: 100000"), tmp_path)
    check_config(config)
    assert sum(1 for _ in runs(config)) == 200_000


def test_null_leaves_out(tmp_path):
    config = config_with(sine("methods: {adam: null}"), tmp_path)
    check_config(config)
    assert {(name.experiment, name.variant) for name in runs(config)} == {("sine", "cbo")}


KEYS = sorted(schema()["x-settings"])
# Sizes are small, or so large that they must be refused: what is accepted is also run.
INTEGERS = st.sampled_from([-1, 0, 1, 2, 3, 5, 8, 20, 40, 80, 10**13, 10**40])
FLOATS = st.sampled_from([0.0, -1.0, 1.0, 0.5, 5.0, 1e-300, 1e5, 1e12, 1e300, float("nan"), float("inf")])
NAMES = st.sampled_from(["resample", "float64", "plain", "uniform", "pytorch", "best_particle", "", "1e3", "a\nb"])
SCALARS = st.one_of(INTEGERS, FLOATS, NAMES, st.none(), st.booleans(), st.text(max_size=5))
MAPPINGS = st.dictionaries(st.one_of(st.sampled_from(KEYS), SCALARS), SCALARS, max_size=2)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3), MAPPINGS)
PLACES = st.sampled_from(["experiment", "cbo", "adam"])


def likely(key: str):
    """A key with a value of the kind that it takes, within its bounds or not."""
    rule = schema()["x-settings"][key]
    kinds = {"integer": INTEGERS, "number": FLOATS}
    value = st.sampled_from(rule["enum"]) if "enum" in rule else kinds.get(str(rule.get("type")), VALUES)
    return st.tuples(PLACES, st.just(key), value)


TAKEN = sorted({*GRID_KEYS, *run_keys("sine", "cbo"), *run_keys("sine", "adam")})
WORDS = st.one_of(st.sampled_from(KEYS), st.text(max_size=4))
ANYTHING = st.tuples(st.one_of(PLACES, st.just("file")), WORDS, VALUES)
CHANGES = st.lists(st.one_of(st.sampled_from(TAKEN).flatmap(likely), ANYTHING), min_size=1, max_size=3)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(changes=CHANGES)
def test_every_config_is_refused_in_one_clear_line_or_runs(tmp_path_factory, changes):
    config = tiny_config()
    experiment = config["experiments"]["sine"]
    places = {"file": config, "experiment": experiment, **experiment["methods"]}
    for place, key, value in changes:
        places[place][key] = value
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*consensus is not guaranteed")
            check_config(config)
    except ConfigError as error:
        line = str(error)
    else:
        line = None
        run_all(config, tmp_path_factory.mktemp("fuzz"))
    keys = ["experiments", "the config", *(str(ConfigError(key)) for place, key, _ in changes if place == "file")]
    assert line is None or line.startswith(tuple(keys)), line
    assert line is None or (line.isprintable() and len(line) < 300)


def run_all(config, folder) -> None:
    """One run of every curve, to the file and back, and a summary of it."""
    names = {(name.variant, name.M, name.N): name for name in runs(config)}
    for name in names.values():
        run = resolve(config, name)
        netcdf.write(run_files.dataset(run, train(run)), folder / "run.nc")
        assert run_files.run_of(run_files.read(folder / "run.nc")) == run
        netcdf.write(summarise_curve([folder / "run.nc"]), folder / "summary.nc")
        summaries.read(folder / "summary.nc")
