"""Files laid over each other, variants that start from others, sweeps: what a config means."""

import pytest

from cbo_pipeline.config import Curve, RunName, check_config, curves, load_config, loading, resolve, runs
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.workflow import driver

SINE = RunName("sine", "cbo", 100, 200, 0)


@pytest.fixture
def load(tmp_path):
    """Configs laid over config.yaml, from their texts."""

    def loaded(*texts: str) -> dict:
        paths = [tmp_path / f"{index}.yaml" for index in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        return load_config(*paths)

    return loaded


def refused(function, *arguments) -> tuple[str, str]:
    """The code and the key with which something is refused."""
    with pytest.raises(ConfigError) as error:
        function(*arguments)
    assert str(error.value).startswith(error.value.key)
    return error.value.code, error.value.key


def only(text: str) -> str:
    return f"only_experiments: [own]\nexperiments: {{own: {{problem: sine, {text}}}}}"


# --- Inheritance ------------------------------------------------------------------------------------------------


def test_a_change_of_a_variant_reaches_all_that_start_from_it(load):
    config = load("experiments: {sine: {methods: {cbo: {sigma_squared: 1.2}}}}")
    for variant in ("cbo", "cbo_float64", "hybrid"):
        assert resolve(config, RunName("sine", variant, 100, 200, 0)).settings["sigma_squared"] == 1.2
    assert resolve(config, RunName("sine", "cbo_float64", 100, 200, 0)).settings["precision"] == "float64"


def test_a_change_reaches_other_experiments(load):
    config = load("experiments: {square: {methods: {ot_cbo: {weight_cut: 1.0e-8}}}}")
    for experiment, variant in (("variance_decay", "trained_fast_gibbs"), ("multi_task_ot", "multi_task_ot_cbo")):
        name = next(n for n in runs(config) if (n.experiment, n.variant) == (experiment, variant))
        assert resolve(config, name).settings["weight_cut"] == 1e-8


def test_the_method_is_the_name_or_that_of_the_variant_it_starts_from():
    config = load_config()
    methods = {variant: resolve(config, RunName("sine", variant, 100, 200, 0)).method
               for variant in ("cbo", "cbo_float64", "hybrid")}  # fmt: skip
    assert methods == {"cbo": "cbo", "cbo_float64": "cbo", "hybrid": "hybrid"}
    assert resolve(config, RunName("variance_decay", "trained_fast", 50, 50, 0)).method == "ot_cbo"


def test_own_keys_win_then_those_of_the_experiment_then_those_of_others(load):
    text = only(
        "seeds: 1, M: 5, alpha: 10.0, epochs: 2, points: 80, label_noise: 0.0, batch_size: 40,"
        " methods: {base: {from: sine/cbo, dt: 0.5, N: 4}, child: {from: base, N: 6}}"
    )
    config = load(text)
    check_config(config)
    child = resolve(config, RunName("own", "child", 5, 6, 0))
    assert list(curves(config)) == [Curve("own", "base", 5, 4), Curve("own", "child", 5, 6)]
    assert (child.method, child.settings["dt"]) == ("cbo", 0.5)  # of base
    assert child.settings["alpha"] == 10.0  # of the experiment, not of sine/cbo
    assert child.settings["sigma_squared"] == 1.6  # of sine/cbo
    assert child.settings["points"] == 80


def test_a_variant_that_is_left_out_can_still_be_started_from(load):
    config = load("experiments: {sine: {methods: {cbo: null, hybrid: null}}, square: null}")
    check_config(config)
    assert set(config["experiments"]["sine"]["methods"]) == {"cbo_float64", "adam"}
    assert "square" not in config["experiments"]
    assert resolve(config, RunName("sine", "cbo_float64", 100, 200, 0)).settings["alpha"] == 1e5
    assert resolve(config, RunName("variance_decay", "random_slow", 50, 50, 0)).settings["weight_cut"] == 1e-10


def test_a_later_file_brings_back_what_an_earlier_one_leaves_out(load):
    config = load("experiments: {sine: {methods: {cbo: null}}}", "experiments: {sine: {methods: {cbo: {N: 7}}}}")
    assert resolve(config, RunName("sine", "cbo", 100, 7, 0)).settings["alpha"] == 1e5


BAD_STARTS = {
    "an unknown variant": ("{a: {from: cob, N: 3}}", ("unknown-name", "experiments.sine.methods.a.from")),
    "an unknown experiment": ("{a: {from: sinus/cbo, N: 3}}", ("unknown-name", "experiments.sine.methods.a.from")),
    "itself": ("{a: {from: a, N: 3}}", ("loop", "experiments.sine.methods.a.from")),
    "each other": ("{a: {from: b}, b: {from: c}, c: {from: a}}", ("loop", "experiments.sine.methods.c.from")),
    "a number": ("{a: {from: 3}}", ("wrong-type", "experiments.sine.methods.a.from")),
    "a path": ("{a: {from: ../sine/cbo}}", ("bad-name", "experiments.sine.methods.a.from")),
    "nothing": ("{a: {from: null}}", ("wrong-type", "experiments.sine.methods.a.from")),
    "a loop over experiments": ("{a: {from: square/ot_cbo}}", None),
}


@pytest.mark.parametrize(("methods", "expected"), BAD_STARTS.values(), ids=BAD_STARTS)
def test_a_bad_start_is_refused(load, methods, expected):
    text = f"experiments: {{sine: {{methods: {methods}}}"
    if expected is None:
        text += ", square: {methods: {ot_cbo: {from: sine/a}}}"
        expected = ("loop", "experiments.square.methods.ot_cbo.from")
    assert refused(load, text + "}") == expected


def test_inherited_keys_that_the_method_does_not_take_are_refused(load):
    config = load("experiments: {sine: {methods: {other: {from: cbo, method: adam, N: 1}}}}")
    code, key = refused(check_config, config)
    assert code == "not-taken"
    assert key.startswith("experiments.sine.methods.other.")


# --- Files over each other ----------------------------------------------------------------------------------------


def test_only_the_experiments_that_are_asked_for(load):
    config = load("only_experiments: [square, variance_decay]")
    check_config(config)
    assert set(config["experiments"]) == {"square", "variance_decay"}
    assert refused(load, "only_experiments: [sinus]") == ("unknown-name", "only_experiments[0]")
    assert refused(load, "only_experiments: []") == ("empty", "only_experiments")
    assert refused(load, "only_experiments: sine") == ("wrong-type", "only_experiments")


def test_leaving_out_what_is_not_there_is_refused(load):
    assert refused(load, "experiments: {sinus: null}") == ("unknown-name", "experiments.sinus")
    code, key = refused(load, "experiments: {sine: {methods: {adma: null}}}")
    assert (code, key) == ("unknown-name", "experiments.sine.methods.adma")


def test_a_grid_replaces_M_and_N_and_the_other_way_round(load):
    sine = load("experiments: {sine: {methods: {cbo: {grid: [{M: [2, 3], N: 4}]}}}}")
    assert {(n.M, n.N) for n in runs(sine) if n.variant == "cbo" and n.experiment == "sine"} == {(2, 4), (3, 4)}
    square = load("experiments: {square: {M: 5, N: [6, 7]}}")
    assert {(n.M, n.N) for n in runs(square) if n.variant == "ot_cbo"} == {(5, 6), (5, 7)}
    both = load("experiments: {sine: {methods: {cbo: {N: 3, grid: [{M: 2, N: 4}]}}}}")
    assert refused(check_config, both) == ("conflict", "experiments.sine.methods.cbo.N")


def test_fewer_epochs_need_no_other_snapshots(load):
    before = resolve(load_config(), SINE).settings["snapshots"]
    assert {10, 100, 1000} <= set(before)
    config = load("experiments: {sine: {epochs: 100}}")
    check_config(config)
    after = [epoch for epoch in before if epoch < 100]  # the last epoch is stored anyway
    assert resolve(config, SINE).settings["snapshots"] == after


SHORT_MNIST = {
    "epochs": "epochs: 50, methods: {adam: null, adam_lr1: null, adam_lr2: null, adam_lr4: null}",
    "the epochs of variants": "methods: {adam: null, adam_lr1: null, adam_lr2: null, adam_lr4: null,"
    " cbo: {epochs: 40}, hybrid: {epochs: 50}}, epochs: 50",
}


@pytest.mark.parametrize("own", SHORT_MNIST.values(), ids=SHORT_MNIST)
def test_variants_that_are_left_out_keep_no_snapshots(load, own):
    """Adam's 10 000 epochs do not count where Adam is left out."""
    config = load(f"experiments: {{mnist: {{{own}}}}}")
    check_config(config)
    assert max(config["experiments"]["mnist"]["snapshots"]) == 50


def test_the_longest_variant_is_left_out_by_itself(load, tmp_path):
    """In a file that says nothing of epochs, or by a second one; a variant that starts from it keeps its epochs."""
    longer = "experiments: {sine: {epochs: 10, methods: {adam: {epochs: 60}}}}"
    found = []
    for index, more in enumerate(("adam: null", "adam: null, adam_slow: {from: adam, dt: 0.01}")):
        paths = [tmp_path / f"{index}_{part}.yaml" for part in "ab"]
        for path, text in zip(paths, (longer, f"experiments: {{sine: {{methods: {{{more}}}}}}}"), strict=True):
            path.write_text(text)
        config = load_config(*paths)
        check_config(config)
        found.append(max(config["experiments"]["sine"]["snapshots"]))
    assert found == [10, 50]


NEVER = {
    "snapshots": "experiments: {sine: {epochs: 100, snapshots: [0, 101]}}",
    "keep_ensembles": "experiments: {sine: {keep_ensembles: [2001]}}",
}


@pytest.mark.parametrize("key", NEVER)
def test_epochs_that_are_never_reached_are_refused(load, key):
    assert refused(check_config, load(NEVER[key])) == ("never-reached", f"experiments.sine.{key}")


def test_a_list_of_epochs_may_concern_the_longest_variant_alone(load):
    config = load("experiments: {sine: {epochs: 10, snapshots: [0, 50], methods: {adam: {epochs: 60}}}}")
    check_config(config)
    assert resolve(config, SINE).settings["snapshots"] == [0]
    assert resolve(config, RunName("sine", "adam", 100, 1, 0)).settings["snapshots"] == [0, 50]


def test_the_workflow_reads_the_same_config(tmp_path):
    """Snakemake's --configfile gives files, its --config changes."""
    path = tmp_path / "own.yaml"
    path.write_text("experiments: {sine: {methods: {cbo: {sigma_squared: 1.2}}}}\n")
    changes = {"experiments": {"sine": {"methods": {"cbo": {"N": 5}}}}}
    config = loading.config_of_workflow([path], changes)
    assert loading.config_of_workflow([path], {}) == load_config(path)
    assert resolve(config, RunName("sine", "hybrid", 100, 5, 0)).settings["sigma_squared"] == 1.2


# --- Sweeps -------------------------------------------------------------------------------------------------------


def test_a_sweep_makes_a_variant_for_each_combination(load):
    config = load(
        "experiments: {sine: {methods: {cbo: {sweep: {alpha: [1000, 1.0e+5], sigma_squared: [0.8, 1.6]}}}}}"
    )
    check_config(config)
    names = [v for v in config["experiments"]["sine"]["methods"] if v.startswith("cbo_alpha")]
    assert names == [f"cbo_alpha_{a}_sigma_squared_{s}" for a in ("1e3", "1e5") for s in ("0p8", "1p6")]
    run = resolve(config, RunName("sine", "cbo_alpha_1e3_sigma_squared_0p8", 100, 200, 0))
    assert (run.method, run.settings["alpha"], run.settings["sigma_squared"]) == ("cbo", 1000.0, 0.8)
    assert config["families"]["sine"]["cbo"]["cbo_alpha_1e5_sigma_squared_1p6"] == {
        "alpha": 1e5,
        "sigma_squared": 1.6,
    }
    assert "cbo" not in config["experiments"]["sine"]["methods"]


def test_a_sweep_over_sizes_and_seeds_makes_no_new_variant(load):
    config = load("experiments: {sine: {methods: {cbo: {sweep: {N: [5, 6], M: [2, 3], seeds: [4, 7]}}}}}")
    check_config(config)
    found = {(n.M, n.N, n.seed) for n in runs(config) if (n.experiment, n.variant) == ("sine", "cbo")}
    assert found == {(M, N, seed) for M in (2, 3) for N in (5, 6) for seed in (4, 7)}


def test_what_starts_from_a_swept_variant_is_not_swept(load):
    config = load("experiments: {sine: {methods: {cbo: {sweep: {dt: [0.1, 0.2]}}}}}")
    check_config(config)
    variants = set(config["experiments"]["sine"]["methods"])
    assert variants == {"cbo_dt_0p1", "cbo_dt_0p2", "cbo_float64", "adam", "hybrid"}


BAD_SWEEPS = {
    "an unknown key": ("{alfa: [1.0]}", "unknown-key", "sweep.alfa"),
    "a grid": ("{grid: [1]}", "unknown-key", "sweep.grid"),
    "text for a number": ("{alpha: [1e3]}", "wrong-type", "sweep.alpha[0]"),
    "out of bounds": ("{alpha: [1.0, -1.0]}", "out-of-bounds", "sweep.alpha[1]"),
    "no list": ("{alpha: 3.0}", "wrong-type", "sweep.alpha"),
    "an empty list": ("{alpha: []}", "empty", "sweep.alpha"),
    "nothing": ("{}", "empty", "sweep"),
    "a value twice": ("{alpha: [1, 1.0]}", "twice", "sweep.alpha"),
    "a list of lists": ("{N: [[1, 2]]}", "wrong-type", "sweep.N[0]"),
    "too many": (f"{{dt: {[k / 1000 for k in range(1, 400)]}, alpha: {list(range(1, 400))}}}", "too-large", "sweep"),
}


@pytest.mark.parametrize(("sweep", "code", "key"), BAD_SWEEPS.values(), ids=BAD_SWEEPS)
def test_a_bad_sweep_is_refused(load, sweep, code, key):
    text = f"experiments: {{sine: {{methods: {{cbo: {{sweep: {sweep}}}}}}}}}"
    assert refused(load, text) == (code, f"experiments.sine.methods.cbo.{key}")


def test_a_sweep_does_not_take_the_name_of_another_variant(load):
    text = (
        "experiments: {sine: {methods: {cbo: {sweep: {dt: [0.1]}}, cbo_dt_0p1: {from: cbo, sweep: {alpha: [1.0]}}}}}"
    )
    assert refused(load, text) == ("twice", "experiments.sine.methods.cbo.sweep")


def test_a_key_of_a_sweep_that_the_method_does_not_take_is_refused(load):
    config = load("experiments: {sine: {methods: {adam: {sweep: {alpha: [1.0]}}}}}")
    assert refused(check_config, config)[0] == "not-taken"


@pytest.mark.parametrize("arguments", ["--configfile a --configfile b", "--configfile a b --configfiles=c"])
def test_a_config_that_snakemake_would_drop_is_refused(arguments):
    """Its --configfile takes several files, but given twice it takes the last alone."""
    assert refused(driver.refuse_lost_configfiles, ["snakemake", *arguments.split()]) == ("twice", "--configfile")
    driver.refuse_lost_configfiles(["snakemake", "--configfile", "a", "b", "--config", "c=d"])
