"""Other readings: the file is checked, only what changes is trained, verdicts are compared on equal terms."""

import dataclasses
import itertools
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from cbo_pipeline.claims import reading_plan, reading_verdicts, readings, statistics
from cbo_pipeline.claims.reading_plan import BASE, ReadingPlan
from cbo_pipeline.claims.reading_verdicts import robustness, shapley
from cbo_pipeline.claims.rule import FAILS, HOLDS, NOT_TESTED, UNDECIDED
from cbo_pipeline.cli.main import main
from cbo_pipeline.config import RunName, resolve, runs
from cbo_pipeline.config.schema import project_file
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.pages import readings as pages
from cbo_pipeline.results import contract, netcdf, summaries
from cbo_pipeline.training.loop import train
from cbo_pipeline.workflow import readings as workflow_readings
from synthetic import curve, settling
from tiny import run_of

SMALL = {
    "most_seeds": {"sine": 5, "square": 5},
    "choices": {
        "scaling": {"what": "scaling", "base": "divided by M"},
        "batches": {"what": "minibatches", "base": "a shuffle"},
        "epochs": {"what": "epochs", "base": "2000"},
        "adam": {"what": "Adam's rate", "base": "0.1"},
    },
    "readings": {
        "plain": {
            "choice": "scaling", "value": "plain", "grade": "as_good", "claims": [1],
            "config": {"experiments": {"sine": {"scaling": "plain"}}},
        },
        "fresh": {
            "choice": "batches", "value": "fresh", "grade": "as_good", "claims": [1, 2],
            "config": {"experiments": {"sine": {"batches": "resample"}, "square": {"batches": "resample"}}},
        },
        "short": {
            "choice": "epochs", "value": "100", "grade": "as_good", "claims": [1],
            "judge": {"epochs": {"sine": 100}},
        },
        "slow": {
            "choice": "adam", "value": "0.01", "grade": "possible", "claims": [1],
            "config": {"experiments": {"sine": {"methods": {"adam": {"dt": 0.01}}}}},
        },
    },
    "together": [["slow", "short"]],
    "crossed": {"experiment": "sine", "claims": [1], "most_seeds": 5},
}  # fmt: skip


def written(folder, content):
    path = folder / "readings.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def changed(**changes):
    """The small file with other keys of the reading ``plain``; None leaves a key out."""
    content = json.loads(json.dumps(SMALL))
    own = content["readings"]["plain"]
    for key, value in changes.items():
        own.pop(key, None)
        if value is not None:
            own[key] = value
    return content


def sine_keys(**keys):
    return {"experiments": {"sine": keys}}


# The file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "key", "code"),
    [
        (changed(colour="red"), "readings.plain.colour", "unknown-key"),
        (changed(claims=[1, 17]), "readings.plain.claims", "unknown-name"),
        (changed(claims=None), "readings.plain.claims", "missing"),
        (changed(choice="scalling"), "readings.plain.choice", "unknown-name"),
        (changed(grade="good"), "readings.plain.grade", "unknown-name"),
        (changed(judge={"epoch": 3}), "readings.plain.judge.epoch", "unknown-key"),
        (changed(judge={"over_seeds": "average"}), "readings.plain.judge.over_seeds", "not-an-option"),
        (changed(judge={"ends": "curve"}), "readings.plain.judge.ends", "not-an-option"),
        (changed(judge={"risk": ["risk"]}), "readings.plain.judge.risk", "not-an-option"),
        (changed(judge={"tail": "50"}), "readings.plain.judge.tail", "wrong-type"),
        (changed(judge={"tail": 0}), "readings.plain.judge.tail", "wrong-type"),
        (changed(judge={"epochs": 500}), "readings.plain.judge.epochs", "wrong-type"),
        (changed(judge={"epochs": {"sinus": 500}}), "readings.plain.judge.epochs", "unknown-name"),
        (changed(judge={"epochs": {"sine": "500"}}), "readings.plain.judge.epochs.sine", "wrong-type"),
        (changed(judge={"adam": 3}), "readings.plain.judge.adam", "bad-name"),
        (changed(config={"data_dir": "x"}), "readings.plain.config.data_dir", "unknown-key"),
        (changed(config=None), "readings.plain", "changes-nothing"),
        (changed(config=sine_keys(scaling="mean_field")), "readings.plain", "changes-nothing"),
        (changed(config={"experiments": {"square": {"scaling": "plain"}}}), "readings.plain", "changes-nothing"),
        (changed(config=sine_keys(scalling="plain")), "experiments.sine.scalling", "unknown-key"),
        (changed(config=sine_keys(scaling="odd")), "experiments.sine.scaling", "not-an-option"),
        ({**SMALL, "together": [["plain", "odd"]]}, "together[0]", "unknown-name"),
        ({**SMALL, "together": [["plain"]]}, "together[0]", "empty"),
        ({**changed(claims=[3]), "together": [["plain", "short"]]}, "together[0]", "empty"),
        ({**SMALL, "crossed": {"experiment": "sine", "claims": [0]}}, "crossed.claims", "unknown-name"),
        ({**SMALL, "crossed": {"experiment": "sine", "claims": [1], "same": {"odd": ["scaling"]}}}, "crossed.same",
         "unknown-name"),
        ({**SMALL, "crossed": {"experiment": "sine", "claims": [1], "same": {"plain": ["odd"]}}},
         "crossed.same.plain", "unknown-name"),
        ({**SMALL, "crossed": {"experiment": "sine", "claims": [1], "same": {"plain": "batches"}}},
         "crossed.same.plain", "wrong-type"),
        ({**SMALL, "crossed": {"experiment": "sine", "claims": [1], "same": ["plain"]}}, "crossed.same",
         "wrong-type"),
        ({**SMALL, "most_seeds": 5}, "most_seeds", "wrong-type"),
        ({**SMALL, "most_seeds": {"sine": 0}}, "most_seeds.sine", "wrong-type"),
        ({**SMALL, "crossed": {"most_seeds": "x"}}, "crossed.most_seeds", "wrong-type"),
        ({**SMALL, "reading": {}}, "reading", "unknown-key"),
        ({"choices": {}}, "readings", "missing"),
        ({**SMALL, "readings": [1]}, "readings", "wrong-type"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_that_names_the_key(tmp_path, content, key, code):
    with pytest.raises(ConfigError) as error:
        ReadingPlan.of(readings=written(tmp_path, content))
    assert (error.value.key, error.value.code) == (key, code), error.value
    assert "\n" not in str(error.value)


def test_a_complaint_about_the_config_names_the_reading(tmp_path):
    path = written(tmp_path, changed(config={"experiments": {"sine": {"scaling": "odd"}}}))
    with pytest.raises(ConfigError, match=r"^workflow/readings\.yaml, reading plain: experiments\.sine\.scaling: "):
        ReadingPlan.of(readings=path)


def test_keys_that_nothing_takes_are_refused_by_the_check(tmp_path):
    content = changed(config={"experiments": {"sine": {"scaling": "plain", "tasks": 3}}})
    with pytest.raises(ConfigError) as error:
        ReadingPlan.of(readings=written(tmp_path, content)).check()
    assert (error.value.key, error.value.code) == ("experiments.sine.tasks", "not-taken")


# The plan ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return ReadingPlan.of(readings=written(tmp_path_factory.mktemp("readings"), SMALL))


def test_only_the_curves_that_change_and_that_claims_look_at_are_trained(plan):
    trained = {owner: {str(source.curve) for source in sources} for owner, sources in plan.trained().items()}
    assert trained == {
        "plain": {"sine/cbo_M100_N200", "sine/adam_M100_N1"},
        "fresh": {"sine/cbo_M100_N200", "sine/adam_M100_N1"},  # not the square: claims 1 and 2 do not look at it
        "slow": {"sine/adam_M100_N1"},
        "plain--fresh": {"sine/cbo_M100_N200", "sine/adam_M100_N1"},
    }
    assert len(plan.run_files()) == 7 * 5
    assert "results/readings/slow/runs/sine/adam/M100_N1_seed4.nc" in plan.run_files()


def test_settings_differ_from_the_base_s_in_the_keys_of_the_reading_alone(plan):
    config = plan.config(plan.base)
    for owner, sources in plan.trained().items():
        for source in sources:
            name = source.curve.run(source.seeds[-1])
            run, base = plan.run(owner, name), resolve(config, name)
            assert run.name == name
            differing = {key for key in run.settings if run.settings[key] != base.settings[key]}
            keys = {"plain": "scaling", "fresh": "batches", "slow": "dt"}
            assert differing == {keys[reading] for reading in owner.split("--")}


def test_experiments_that_a_config_leaves_out_are_left_out_of_its_readings(tmp_path):
    overlay = tmp_path / "square.yaml"
    overlay.write_text("only_experiments: [square]")
    content = json.loads(json.dumps(SMALL))
    content["readings"]["fresh"]["claims"] = [1, 10]
    small = ReadingPlan.of([overlay], written(tmp_path, content))
    assert {source.curve.experiment for sources in small.trained().values() for source in sources} == {"square"}


def test_combinations_share_their_runs(plan):
    crossed = plan.crossed()
    assert len(crossed) == 8  # two values of three choices
    assert crossed[0].name == BASE
    names = {specification.name: specification for specification in crossed}
    both = plan.sources(names["plain--fresh--short"])
    assert {source.owner for source in both.values()} == {"plain--fresh"}
    assert {source.owner for source in plan.sources(names["short"]).values()} == {BASE}
    assert names["plain--fresh--short"].choices.epochs == {"sine": 100}


def test_choices_that_make_no_difference_beside_a_reading_share_its_runs(tmp_path):
    crossed = {"experiment": "sine", "claims": [1], "same": {"plain": ["batches"]}}
    plan = ReadingPlan.of(readings=written(tmp_path, {**SMALL, "crossed": crossed}))
    both = next(s for s in plan.crossed() if s.name == "plain--fresh")
    assert {source.owner for source in plan.sources(both).values()} == {"plain"}
    assert set(plan.trained()) == {"plain", "fresh", "slow"}
    rows = plan.crossed()
    assert len(rows) == 8  # every combination has its row all the same


def test_a_growth_of_alpha_that_begins_after_the_last_epoch_is_not_trained(tmp_path):
    """The same numbers under other settings: told as a reading, judged by the base's runs, and not at the horizon."""
    content = json.loads(json.dumps(SMALL))
    keys = {"mnist": {"methods": {"cbo": {"alpha_factor": 1}}}}
    content["readings"]["fresh"] |= {"claims": [4, 5], "config": {"experiments": keys}}
    plan = ReadingPlan.of(readings=written(tmp_path, content))
    (fixed,) = (s for s in plan.specifications if s.name == "fresh" and s.experiments is None)
    assert {source.owner for source in plan.sources(fixed).values()} == {BASE}
    assert plan.changed_experiments(fixed) == {"mnist"}
    keys["mnist"]["methods"]["cbo"] = {"alpha_factor": 1, "epochs": 101}  # one more, and it would have grown
    longer = ReadingPlan.of(readings=written(tmp_path, content))
    assert "fresh" in longer.trained()


def test_alpha_does_grow_in_the_epoch_after_that_many():
    """What the plan above relies on: with as many epochs as alpha_every the numbers are those without growth."""

    def risks(epochs, factor):
        changes = {"epochs": epochs, "alpha_every": 3, "alpha_factor": factor, "alpha": 1.0, "alpha_max": 1e7}
        return np.array(train(run_of("cbo", **changes)).records["risk"])

    assert np.array_equal(risks(3, 1000.0), risks(3, 1.0))
    assert not np.array_equal(risks(4, 1000.0), risks(4, 1.0))


def test_what_is_tried_together_is_judged_by_the_claims_that_both_touch(plan):
    pair = next(s for s in plan.specifications if s.name == "slow--short")
    assert (pair.claims, pair.choices.epochs) == ((1,), {"sine": 100})
    owners = {str(curve): source.owner for curve, source in plan.sources(pair).items()}
    assert owners == {"sine/cbo_M100_N200": BASE, "sine/adam_M100_N1": "slow"}


def test_a_shorter_horizon_asks_for_no_more_than_its_own_scale(plan):
    grid = dataclasses.replace(
        plan.readings.entries["plain"],
        claims=(10,),
        config={"experiments": {"square": {"grid": [{"M": [5, 6], "N": 7}]}}},
    )
    wanted = plan.wanted(reading_plan.Specification((grid,), (10,)))["square", "ot_cbo"]
    assert (wanted.M, wanted.N, wanted.widths) == (6, 7, 2)


def test_a_variant_that_a_reading_leaves_out_is_not_wanted(plan):
    fewer = dataclasses.replace(
        plan.readings.entries["plain"],
        claims=(6,),
        config={"experiments": {"mnist": {"pixels": "standardised", "methods": {"adam_lr4": None}}}},
    )
    wanted = plan.wanted(reading_plan.Specification((fewer,), (6,)))
    assert ("mnist", "adam_lr4") not in wanted
    assert {("mnist", "adam_lr1"), ("mnist", "cbo"), ("sine", "cbo")} <= set(wanted)


def test_runs_are_counted_and_timed_by_the_base_s_own(plan, tmp_path, capsys):
    table = pages.plan_table(plan, {"sine/cbo_M100_N200": 36.0, "sine/adam_M100_N1": 7.2}).splitlines()
    assert "| scaling: plain | sine 10 | 0.06 |" in table
    assert "| epochs: 100 | none | 0.00 |" in table
    assert table[-2:] == [
        "| combinations on the sine, and what is taken together | sine 10 | 0.06 |", "| **all** | 35 | 0.19 |",
    ]  # fmt: skip
    half = pages.plan_table(plan, {"sine/adam_M100_N1": 7.2}).splitlines()
    assert "| scaling: plain | sine 10 | more than 0.01 |" in half
    folder = tmp_path / "benchmarks" / "sine" / "cbo"
    folder.mkdir(parents=True)
    (folder / "M100_N200_seed0.tsv").write_text("s\tmax_rss\tcpu_time\n18\t-\t17\n")
    assert main(["check", "--readings", "--results", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "runs, every setting in bounds" in said
    assert "| epochs: 1000 | none | 0.00 |" in said
    assert "| step: one factor | sine 10, multi_task 10 | more than 0.05 |" in said


def test_a_publication_is_told_which_readings_it_lacks(own, tmp_path, capsys):
    def lacking():
        assert main(["check", "--lacking", str(tmp_path)]) == 0
        return capsys.readouterr().out.splitlines()

    assert lacking() == own.summary_files()
    first, *others = own.summary_files()
    for target in others:
        path = tmp_path / Path(target).relative_to("results")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert lacking() == [first]


def test_the_jobs_of_the_readings(plan):
    """What the rules ask: settings, seeds, files and time of a run of a reading."""
    jobs = workflow_readings.Readings([])
    jobs._plan = plan
    curve = SimpleNamespace(reading="slow", experiment="sine", variant="adam", M="100", N="1")
    runs = jobs.runs_like(curve)
    run = json.loads(runs.run(SimpleNamespace(**vars(curve), seed="3")).json)
    assert (run["name"]["seed"], run["settings"]["dt"]) == (3, 0.01)
    assert jobs.seeds_of(curve) == "0-4"
    assert jobs.runs_of(curve)[0] == "results/readings/slow/runs/sine/adam/M100_N1_seed0.nc"
    assert (jobs.data_of(curve), jobs.minutes(curve)) == ([], 60)
    assert jobs.megabytes(curve, 2) == 2 * jobs.megabytes(curve, 1)
    assert jobs.gpus(curve) == 0
    assert "results/readings/slow/summary/sine/adam_M100_N1.nc" in jobs.summaries(curve)
    assert len(jobs.summaries_of("sine")(curve)) == 7
    assert jobs.summaries_of("square")(curve) == []


# The project's own file -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own():
    return ReadingPlan.of()


def test_the_project_s_readings_are_valid(own):
    own.check()
    assert {reading.choice for reading in own.readings.entries.values()} == set(own.readings.choices)
    touched = {claim for reading in own.readings.entries.values() for claim in reading.claims}
    assert touched >= {1, 2, 3, 4, 5, 6, 7, 8, 10, 11, 12}


def test_every_combination_of_the_readings_as_good_as_ours_is_crossed(own):
    options = own.readings.crossed()
    assert len(own.crossed()) == np.prod([1 + len(values) for values in options.values()])
    trained = {s.overlay_text for s in own.crossed()}
    with_config = [values for values in options.values() if values[0].config]
    assert len(trained) == np.prod([1 + len(values) for values in with_config])


def test_in_double_precision_too_the_order_of_operations_makes_another_run(own):
    """Why readings.yaml crosses them: the last digits alone differ at first, and grow."""
    small = {"precision": "float64", "points": 400, "batch_size": 200, "epochs": 200, "snapshots": []}
    base = resolve(own.config(own.base), RunName("sine", "cbo", 100, 50, 0), small)
    other = dataclasses.replace(base, settings={**base.settings, "step_form": "one_factor"})
    risks = [np.array(train(run).records["risk"]) for run in (base, other)]
    np.testing.assert_allclose(risks[0][:20], risks[1][:20], rtol=1e-9)
    assert np.abs(risks[0][-1] / risks[1][-1] - 1) > 1e-5


def test_the_seeds_of_the_readings_are_among_those_of_the_base(own):
    base = set(runs(own.config(own.base)))
    for sources in own.trained().values():
        for source in sources:
            if source.curve in {name.curve for name in base}:
                assert {source.curve.run(seed) for seed in source.seeds} <= base


# Verdicts ---------------------------------------------------------------------------------------------------------


def store(path, experiment, *parts):
    """Summaries as the pipeline stores them, with made-up numbers."""
    from synthetic import summary

    data = summary(*parts)
    data["risk_over_seeds"] = data["risk"].median("seed").expand_dims(statistic=["median"])
    netcdf.write(contract.stamp(data, "summary", experiment, "0", experiment=experiment), path)


def sine_curve(plan, owner, variant, end, seeds, half):
    source = next(s for s in plan.sources(plan.base) if (s.experiment, s.variant) == ("sine", variant))
    run = plan._runs[owner, source]
    risk = settling(0.5, end, run.settings["epochs"], seeds, half=half, noise=0.01, seed=hash(variant) % 7)
    method = run.method
    return curve("sine", variant, risk, M=source.M, N=source.N, method=method, settings=run.settings)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """No verdict depends on what is reported of resamples."""
    monkeypatch.setattr(statistics, "RESAMPLES", 50)


@pytest.fixture
def results(tmp_path, plan):
    """A base of eight seeds in which CBO ends lower, a reading in which it ends higher, and one that was not run."""
    folder = tmp_path / "results"
    base = {name: sine_curve(plan, BASE, name, end, 10, half) for name, end, half in SINE}
    store(folder / "summary" / "sine.nc", "sine", *base.values())
    for owner in ("plain", "plain--fresh"):
        for name, end, half in (("cbo", 9e-4, 100), ("adam", 6e-4, 5)):
            one = sine_curve(plan, owner, name, end, 5, half)
            store(folder / "readings" / owner / "summary" / "sine" / f"{name}_M100_N{one.N.item()}.nc", "sine", one)
    return folder


SINE = (("cbo", 3e-4, 100), ("adam", 6e-4, 5))


def test_readings_are_judged_beside_the_base_on_the_same_seeds(plan, results):
    found = reading_verdicts.judge_readings(plan, results)
    assert (found["base"]["1"]["verdict"], found["base"]["1"]["seeds"]) == (HOLDS, 10)
    assert (found["compared"]["1"]["verdict"], found["compared"]["1"]["seeds"]) == (HOLDS, 5)
    rows = {row["name"]: row["claims"] for row in found["readings"]}
    assert (rows["plain"]["1"]["verdict"], rows["plain"]["1"]["moved"]) == (FAILS, True)
    assert (rows["short"]["1"]["verdict"], rows["short"]["1"]["moved"]) == (FAILS, True)  # CBO is slower at first
    assert (rows["fresh"]["1"]["verdict"], rows["fresh"]["1"]["moved"]) == (NOT_TESTED, False)
    assert found["robustness"]["1"] == (
        "turns with: scaling: plain (does not hold); epochs: 100 (does not hold) (3 readings were not judged)"
    )
    assert found["robustness"]["2"] == "other readings were not run"
    assert found["robustness"]["9"] == "robust: no other reading touches it"


def test_a_reading_with_fewer_seeds_is_compared_with_as_few_of_the_base(plan, results, monkeypatch):
    """A part of its runs may be missing."""
    judge = reading_verdicts.Judge(plan, results)
    plain = next(s for s in plan.specifications if s.name == "plain")
    assert judge._seeds(plain) == frozenset()
    monkeypatch.setitem(plan.readings.most_seeds, "sine", 8)  # of which the reading has five
    assert judge._seeds(plain) == {("sine", 5)}
    assert judge.base_verdicts()["1"]["seeds"] == 8
    assert judge.base_verdicts(seeds=judge._seeds(plain))["1"]["seeds"] == 5


def test_a_curve_of_the_base_with_an_example_is_joined_with_a_published_reading_without(results):
    """As on MNIST, where a reading of the hybrid alone is judged beside Adam and CBO of the base."""
    path = results / "summary" / "sine.nc"
    base = summaries.read(path).load().drop_indexes("variant")
    pictures = base.assign(digit_label=("digit", [7, 2])).assign_coords(digit=[1, 2])
    netcdf.write(contract.stamp(pictures, "summary", "sine", "0", experiment="sine"), path)
    whole = summaries.read(path).sel(variant=["cbo"])
    lean = summaries.read(results / "readings" / "plain" / "summary" / "sine" / "adam_M100_N1.nc")
    joined = summaries.join(reading_verdicts._alike([whole, lean]))
    assert list(joined["variant"].values) == ["cbo", "adam"]
    assert "digit" not in joined.dims
    np.testing.assert_array_equal(joined["risk"].sel(variant="cbo"), whole["risk"].isel(curve=0))


def test_without_any_results_nothing_is_judged(plan, tmp_path):
    found = reading_verdicts.judge_readings(plan, tmp_path)
    assert {one["verdict"] for one in found["base"].values()} == {NOT_TESTED}
    assert found["robustness"]["1"] == "other readings were not run"


def test_all_combinations_are_shown_and_shares_wait_for_all_of_them(plan, results):
    crossed = reading_verdicts.judge_readings(plan, results)["crossed"]
    assert crossed["levels"] == {
        "scaling": ["divided by M", "plain"], "batches": ["a shuffle", "fresh"], "epochs": ["2000", "100"],
    }  # fmt: skip
    by_choice = {tuple(row["choices"].values()): row["claims"]["1"]["verdict"] for row in crossed["rows"]}
    assert len(by_choice) == 8
    assert by_choice["divided by M", "a shuffle", "2000"] == HOLDS
    assert by_choice["plain", "fresh", "2000"] == FAILS
    assert crossed["shares"]["1"] is None  # "fresh" alone was not run


def test_specifications_are_all_combinations_and_the_readings_beside_them(plan, results):
    """Those that were judged; each says the value of every choice, the base's if it does not change it."""
    found = reading_verdicts.judge_readings(plan, results)
    given = [tuple(taken.values()) for taken, _ in reading_verdicts.specifications(found, "1")]
    assert list(reading_verdicts.specifications(found, "1")[0][0]) == ["scaling", "batches", "epochs", "adam"]
    combined = {
        (scaling, batches, epochs, "0.1")
        for scaling, batches in (("divided by M", "a shuffle"), ("plain", "a shuffle"), ("plain", "fresh"))
        for epochs in ("2000", "100")
    }
    assert len(given) == len(set(given))
    assert set(given) == combined  # another rate of Adam's was not run, nor "fresh" alone
    row = next(row for row in found["readings"] if row["name"] == "slow")
    row["claims"]["1"]["value"] = 0.5
    assert ("divided by M", "a shuffle", "2000", "0.01") in {
        tuple(taken.values()) for taken, _ in reading_verdicts.specifications(found, "1")
    }
    found["crossed"] = None
    alone = {tuple(taken.values()) for taken, _ in reading_verdicts.specifications(found, "1")}
    assert ("plain", "fresh", "2000", "0.1") not in alone
    assert ("divided by M", "a shuffle", "2000", "0.1") in alone


def test_the_commands_write_and_read_the_file(plan, results, tmp_path, capsys):
    path = written(tmp_path, SMALL)
    out, page = tmp_path / "readings.json", tmp_path / "readings.md"
    options = ["--results", str(results), "--file", str(path), "--json", str(out), "--markdown", str(page)]
    assert main(["readings", *options]) == 0
    assert capsys.readouterr().err == "5 readings (3 were not run); claims that turn with one: 1\n"
    assert "| scaling: plain | as good as ours | **○** |" in page.read_text()
    assert "## 6 of 8 combinations, those that were run, on the sine" in page.read_text()
    verdicts = tmp_path / "claims.json"
    assert (
        main(["claims", str(results / "summary" / "sine.nc"), "--readings", str(out), "--json", str(verdicts)]) == 0
    )
    rows = json.loads(verdicts.read_text())
    assert rows[0]["robustness"].startswith("turns with: scaling: plain (does not hold)")


@pytest.mark.parametrize(
    ("verdicts", "said"),
    [
        ([], "robust: no other reading touches it"),
        ([(HOLDS, False)], "robust: the same under 1 other reading"),
        ([(HOLDS, False), (NOT_TESTED, False)], "robust: the same under 1 other reading (1 reading was not judged)"),
        ([(FAILS, True), (HOLDS, False)], "turns with: a b: 0 (does not hold)"),
        ([(FAILS, True), (UNDECIDED, True)], "turns with: a b: 0 (does not hold); undecided with: a b: 1"),
        ([(UNDECIDED, True), (HOLDS, False)], "robust: the same under 1 other reading; undecided with: a b: 0"),
        ([(UNDECIDED, True), (UNDECIDED, True)], "open: undecided with: a b: 0; a b: 1"),
        ([(NOT_TESTED, False)], "other readings were not run"),
        # On as many seeds as the readings have the base is undecided, too.
        ([(UNDECIDED, False)], "open: undecided under 1 other reading, like ours on as few seeds and epochs"),
        (
            [(UNDECIDED, False), (HOLDS, False), (HOLDS, False), (UNDECIDED, False), (NOT_TESTED, False)],
            "robust: the same under 2 other readings; undecided under 2 other readings, like ours on as few seeds and"
            " epochs (1 reading was not judged)",
        ),
    ],
)
def test_robustness_in_words(verdicts, said):
    rows = [
        {"words": f"a b: {i}", "same": False, "claims": {"3": {"verdict": verdict, "moved": moved}}}
        for i, (verdict, moved) in enumerate(verdicts)
    ]
    assert robustness(3, rows, {"verdict": HOLDS}) == said


def test_what_is_undecided_is_not_called_robust():
    rows = [{"words": "a: b", "same": False, "claims": {"3": {"verdict": UNDECIDED, "moved": False}}}]
    assert robustness(3, rows, {"verdict": UNDECIDED}) == "open: undecided under 1 other reading, too"


def test_a_reading_that_makes_the_same_runs_is_not_counted():
    rows = [
        {"words": f"a: {same}", "same": same, "claims": {"3": {"verdict": HOLDS, "moved": False}}}
        for same in (True, False)
    ]
    assert robustness(3, rows, {"verdict": HOLDS}) == "robust: the same under 1 other reading"


# Shares -----------------------------------------------------------------------------------------------------------


def test_shares_of_a_sum_are_those_of_its_terms():
    """Without interactions a share is the variance of the choice's own term."""
    terms = np.array([0.0, 3.0]), np.array([0.0, 1.0, 2.0]), np.array([5.0, 5.0])
    table = terms[0][:, None, None] + terms[1][None, :, None] + terms[2][None, None, :]
    variances = np.array([term.var() for term in terms])
    np.testing.assert_allclose(shapley(table), variances / variances.sum())


def test_an_interaction_is_shared_equally():
    np.testing.assert_allclose(shapley(np.array([[1.0, -1.0], [-1.0, 1.0]])), [0.5, 0.5])
    assert shapley(np.ones((2, 2))).tolist() == [0, 0]


def test_shares_are_those_of_all_orders_in_which_choices_are_made():
    """Shapley's own definition: the mean over all orders of the choices of what each explains when its turn comes."""
    table = np.random.default_rng(0).standard_normal((2, 3, 2))

    def explained(chosen):
        return table.mean(axis=tuple(axis for axis in range(3) if axis not in chosen)).var()

    gains = np.zeros(3)
    for order in itertools.permutations(range(3)):
        for turn, axis in enumerate(order):
            gains[axis] += (explained(order[: turn + 1]) - explained(order[:turn])) / 6
    np.testing.assert_allclose(shapley(table), gains / table.var())
    assert shapley(table).sum() == pytest.approx(1)


def test_the_project_file_is_where_it_is_said_to_be():
    assert project_file(readings.FILE).is_file()
