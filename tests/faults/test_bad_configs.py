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
from cbo_pipeline.results import netcdf, summaries
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


# A config laid over tests/tiny.yaml, and how the complaint begins.
TABLE = [
    # The whole file.
    ("experiments: {sine: null}", "experiments: empty"),
    ("experiments: null", "experiments: None is nothing"),
    ("experiments: 3", "experiments: 3 is a number"),
    ("experiments: [sine]", "experiments: ['sine'] is a list"),
    (top("data_dir: 3"), "data_dir: 3 is a number"),
    (top("data_dir: ''"), "data_dir: "),
    (top("datadir: data"), "the config.datadir: unknown key; did you mean data_dir?"),
    (top("threads: 4"), "the config.threads: unknown key"),
    (top("1: 2"), "the config: the key 1 is a number, not text"),
    (top("null: 2"), "the config: the key None is nothing, not text"),
    ("experiments: {Sine: {methods: {cbo: {}}}}", "experiments: 'Sine' is not a valid name"),
    ("experiments: {'../x': {methods: {cbo: {}}}}", "experiments: '../x' is not a valid name"),
    ("experiments: {'$(id)': {methods: {cbo: {}}}}", "experiments: '$(id)' is not a valid name"),
    ("experiments: {other: {methods: {cbo: {}}}}", "experiments.other: unknown problem 'other'"),
    ("experiments: {other: {problem: sin, methods: {cbo: {}}}}", "experiments.other.problem: unknown problem 'sin'"),
    ("experiments: {other: {problem: sine}}", "experiments.other.methods: missing"),
    ("experiments: {other: {problem: sine, methods: {}}}", "experiments.other.methods: empty"),
    ("experiments: {other: {problem: sine, methods: {cbo: null}}}", "experiments.other.methods.cbo: there is"),
    ("experiments: {other: {problem: [sine], methods: {cbo: {}}}}", "experiments.other.problem: ['sine'] is a list"),
    ("experiments: {other: {problem: sine, methods: {cbo: {N: 5}}}}", "experiments.other.methods.cbo: M and N"),
    ("experiments: {2024-01-01: {}}", "experiments: '2024-01-01' is not a valid name"),
    # Methods.
    (sine("methods: 1"), f"{E}.methods: 1 is a number"),
    (sine("methods: {cbo: 1}"), f"{C}: 1 is a number"),
    (sine("methods: {CBO: {N: 3}}"), f"{E}.methods: 'CBO' is not a valid name"),
    (sine("methods: {cbos: {N: 3}}"), f"{E}.methods.cbos: unknown method 'cbos'; did you mean cbo?"),
    (sine("methods: {fast: {N: 3, method: sgd}}"), f"{E}.methods.fast.method: unknown method 'sgd'"),
    (sine("methods: {fast: {N: 3, method: 7}}"), f"{E}.methods.fast.method: 7 is a number"),
    (sine("methods: {fast: {method: cbo, N: 3}}"), f"{E}.methods.fast.alpha: missing"),
    (sine("methods: {'a;rm -rf /': {method: cbo}}"), f"{E}.methods: 'a;rm -rf /' is not a valid name"),
    # Types.
    (sine("epochs: ten"), f"{E}.epochs: 'ten' is text, not an integer"),
    (sine("epochs: 1e3"), f"{E}.epochs: '1e3' is text, not an integer (YAML reads"),
    (sine("epochs: 10.0"), f"{E}.epochs: 10.0 is a number, not an integer"),
    (sine("epochs: true"), f"{E}.epochs: True is a truth value"),
    (sine("epochs: [1]"), f"{E}.epochs: [1] is a list"),
    (sine("epochs: {a: 1}"), f"{E}.epochs: {{'a': 1}} is a mapping"),
    (sine("epochs: null"), f"{E}.epochs: None is nothing"),
    (sine("epochs: 2024-01-01"), f"{E}.epochs: '2024-01-01' is text"),
    (cbo("dt: 1e-3"), f"{C}.dt: '1e-3' is text, not a number (YAML reads"),
    (cbo("dt: [0.1]"), f"{C}.dt: [0.1] is a list"),
    (cbo("alpha: .nan"), f"{C}.alpha: nan is not a finite number"),
    (cbo("alpha: .inf"), f"{C}.alpha: inf is not a finite number"),
    (cbo("alpha_max: -.inf"), f"{C}.alpha_max: -inf is not a finite number"),
    (sine("precision: float16"), f"{E}.precision: 'float16' is not one of float32, float64"),
    (sine("precision: 32"), f"{E}.precision: 32 is not one of"),
    (sine("batches: shuffle"), f"{E}.batches: 'shuffle' is not one of partition, resample"),
    (sine("scaling: MeanField"), f"{E}.scaling: 'MeanField' is not one of"),
    (cbo("initial: normal"), f"{C}.initial: 'normal' is not one of"),
    (cbo("reported: best"), f"{C}.reported: 'best' is not one of"),
    (sine("snapshots: 10"), f"{E}.snapshots: 10 is a number, not a list"),
    (sine("snapshots: [1, two]"), f"{E}.snapshots.1: 'two' is text"),
    (sine("snapshots: [-1]"), f"{E}.snapshots.0: -1 is below 0"),
    (sine("snapshots: [1, 1]"), f"{E}.snapshots: [1, 1] has an entry twice"),
    (sine("data_seed: zero"), f"{E}.data_seed: 'zero' is text"),
    (sine("data_seed: -1"), f"{E}.data_seed: -1 is below 0"),
    # Bounds.
    (sine("epochs: 0"), f"{E}.epochs: 0 is below 1"),
    (sine("epochs: -5"), f"{E}.epochs: -5 is below 1"),
    (sine("epochs: 100000000000"), f"{E}.epochs: 100000000000 is above"),
    (sine("batch_size: 0"), f"{E}.batch_size: 0 is below 1"),
    (sine("batch_size: 30"), f"{C}.batch_size: 30 does not divide the 80 data points"),
    (sine("batch_size: 160"), f"{C}.batch_size: 160 does not divide the 80 data points"),
    (sine("points: 1"), f"{E}.points: 1 is below 2"),
    (sine("label_noise: -0.1"), f"{E}.label_noise: -0.1 is below 0"),
    (cbo("dt: 0"), f"{C}.dt: 0 is not above 0"),
    (cbo("dt: -0.1"), f"{C}.dt: -0.1 is not above 0"),
    (cbo("dt: 1.5"), f"{C}.dt: 1.5 is above 1"),
    (cbo("alpha: 0"), f"{C}.alpha: 0 is not above 0"),
    (cbo("alpha_factor: 0.5"), f"{C}.alpha_factor: 0.5 is below 1"),
    (cbo("alpha_every: 0"), f"{C}.alpha_every: 0 is below 1"),
    (cbo("lambda: 0"), f"{C}.lambda: 0 is not above 0"),
    (cbo("sigma_squared: -1"), f"{C}.sigma_squared: -1 is below 0"),
    (cbo("initial_bound: 0"), f"{C}.initial_bound: 0 is not above 0"),
    (cbo("initial_bound: 1.0e+300"), f"{C}.initial_bound: 1e+300 is above"),
    (adam("beta1: 1"), f"{A}.beta1: 1 is not below 1"),
    (adam("beta2: -0.1"), f"{A}.beta2: -0.1 is below 0"),
    (adam("delta: 0"), f"{A}.delta: 0 is not above 0"),
    # Sizes, grids, seeds.
    (sine("M: 0"), f"{E}.M: 0 is below 1"),
    (sine("M: []"), f"{E}.M: empty"),
    (sine("M: [5, 5]"), f"{E}.M: [5, 5] has an entry twice"),
    (sine("M: [5, -1]"), f"{E}.M[1]: -1 is below 1"),
    (sine("M: wide"), f"{E}.M: 'wide' is text, not an integer or a list"),
    (sine("M: 1e2"), f"{E}.M: '1e2' is text, not an integer or a list of integers (YAML reads"),
    (sine("M: 5.0"), f"{E}.M: 5.0 is a number, not an integer"),
    (cbo("N: [8, null]"), f"{C}.N[1]: None is nothing"),
    (adam("N: 2"), f"{A}.N: Adam trains one network"),
    (cbo("grid: []"), f"{C}.grid: empty"),
    (cbo("grid: [{M: 5}]"), f"{C}.grid.0.N: missing"),
    (cbo("grid: [{M: 5, N: 8, K: 1}]"), f"{C}.grid.0.K: unknown key"),
    (cbo("grid: [{M: [], N: 8}]"), f"{C}.grid.0.M: empty"),
    (cbo("grid: {M: 5, N: 8}"), f"{C}.grid: {{'M': 5, 'N': 8}} is a mapping"),
    (sine("seeds: 0"), f"{E}.seeds: 0 is below 1"),
    (sine("seeds: []"), f"{E}.seeds: empty"),
    (sine("seeds: [1, 2, 1]"), f"{E}.seeds: [1, 2, 1] has an entry twice"),
    (sine("seeds: [-1]"), f"{E}.seeds[0]: -1 is below 0"),
    (sine("seeds: 2.0"), f"{E}.seeds: 2.0 is a number"),
    (sine("seeds: 10000000"), f"{E}.seeds: 10000000 is above"),
    # Keys nobody takes.
    (sine("epoch: 3"), f"{E}.epoch: unknown key; did you mean epochs?"),
    (sine("gamma: 0.7"), f"{E}.gamma: neither the problem nor a method of sine takes it"),
    (cbo("beta1: 0.9"), f"{C}.beta1: cbo on sine takes no such key"),
    (adam("alpha: 1.0"), f"{A}.alpha: adam on sine takes no such key"),
    (cbo("sigma: 1.0"), f"{C}.sigma"),
    (cbo("'__class__': 1"), f"{C}.__class__: unknown key"),
    # More than a machine holds: refused with the estimate.
    (cbo("N: 1000000000000"), f"{C}.N: a run needs about 180 TB of memory"),
    (sine("M: 1000000000000"), f"{C}.M: a run needs about"),
    (sine("points: 1000000000000, batch_size: 40"), f"{C}.points: a run needs about"),
    (cbo(f"N: 1{'0' * 400}"), f"{C}.N: a number of more than 30 digits is too large"),
    (cbo("grid: [{M: 5, N: 8}, {M: 100000000, N: 100000}]"), f"{C}.M: a run needs about"),
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
    assert len(TABLE) == len({text for text, _ in TABLE})


@pytest.mark.parametrize(("text", "complaint"), TABLE, ids=[text[:60] for text, _ in TABLE])
def test_a_bad_config_is_refused_in_one_line_that_names_the_key(tmp_path, text, complaint, record_property):
    with pytest.raises(ConfigError) as refused:
        check_config(config_with(text, tmp_path))
    line = str(refused.value)
    assert line.startswith(complaint), line
    assert "\n" not in line
    assert len(line) < 300
    record_property("refused", "a bad config")


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
        "import sys, resource; from cbo_pipeline.config import Run; from cbo_pipeline.training.loop import train;"
        "train(Run.from_json(sys.argv[1]));"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
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
