"""Every claim can hold, and every claim can fail: made-up results decide which."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbo_pipeline import claims
from cbo_pipeline.claims import barycentres, files, speed, statistics
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.claims.judgement import FAILS, HOLDS, IN_PART, NOT_TESTED
from cbo_pipeline.cli.main import main
from cbo_pipeline.errors import FileRefused
from cbo_pipeline.pages import claims as pages
from synthetic import cost, curve, decay, settling, summary

SINE = {"points": 8000, "label_noise": 0.01, "precision": "float32"}
DOUBLE = {**SINE, "precision": "float64"}
CHECK = {
    "residual": 1e-15, "instances": 100, "fixed_point_is_best": 0.8, "more_atoms_better": 0, "example_gain": 0.0,
}  # fmt: skip


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    """Verdicts on clear-cut results need no fine interval."""
    monkeypatch.setattr(statistics, "RESAMPLES", 100)


def verdict(number, evidence):
    """The row of one claim."""
    claim = next(c for c in claims.CLAIMS if c.id == number)
    return claims.judge_all(evidence, [claim])[0]


# Sine -------------------------------------------------------------------------------------------------------------


def sine(cbo_end=3e-4, adam_end=6e-4, cbo_noise=0.01, adam_noise=0.1, epochs=2000, seeds=10, N=200):
    cbo = settling(0.5, cbo_end, epochs, seeds, noise=cbo_noise, half=100)
    adam = settling(0.5, adam_end, epochs, seeds, noise=adam_noise, half=20, seed=1)
    return Evidence(
        {
            "sine": summary(
                curve("sine", "cbo", cbo, M=100, N=N, settings=SINE),
                curve("sine", "cbo_float64", 10 * cbo, M=100, N=N, method="cbo", settings=DOUBLE),
                curve("sine", "adam", adam, M=100, N=1, settings=SINE),
            )
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("number", "results", "expected"),
    [
        (1, sine(), HOLDS),
        (1, sine(cbo_end=6e-4, adam_end=3e-4), FAILS),
        (1, sine(cbo_end=5.9e-4, adam_end=6e-4, cbo_noise=1.0, adam_noise=1.0), IN_PART),
        (2, sine(), HOLDS),
        (2, sine(cbo_noise=0.1, adam_noise=0.01), FAILS),
        (3, sine(), HOLDS),
        (3, sine(cbo_end=2e-2, adam_end=2e-2), FAILS),
        (3, sine(cbo_end=2e-2), IN_PART),
    ],
)
def test_sine(number, results, expected):
    row = verdict(number, results)
    assert row["verdict"] == expected, row["seen"]
    low, high = row["spread"]
    assert low <= row["value"] <= high


def test_the_crossing_is_where_the_medians_cross():
    row = verdict(1, sine(cbo_noise=0.0, adam_noise=0.0))
    crossing = row["details"]["crossing"]
    epoch = np.arange(2001)
    cbo, adam = 3e-4 + (0.5 - 3e-4) * 0.5 ** (epoch / 100), 6e-4 + (0.5 - 6e-4) * 0.5 ** (epoch / 20)
    assert crossing["epoch"] == np.flatnonzero(cbo >= adam)[-1] + 1
    assert crossing["spread"] == (crossing["epoch"], crossing["epoch"])


def test_a_diverged_run_counts_as_infinitely_bad():
    results = sine()
    data = results.summaries["sine"]
    data["risk"][0, :6, 500:] = np.nan
    assert verdict(1, results)["verdict"] == FAILS


# MNIST ------------------------------------------------------------------------------------------------------------


def leaping(epochs, seeds, first):
    """Risks that fall, and from epoch ``first`` on leap now and then."""
    risk = decay(2.3, 1e-5, epochs, seeds)
    risk[:, first::50] *= 100
    return risk


def mnist(cbo_end=1.0, adam_end=0.1, hybrid_end=0.02, leaps=(True, True, False, False), first=50, hybrid_leaps=False,
          epochs=100, adam_epochs=5000, seeds=5, N=1000, costs=()):  # fmt: skip
    """CBO and hybrid to ``epochs``; Adam at four learning rates, falling to ``adam_end`` by then."""
    names = {1e-1: "adam_lr1", 1e-2: "adam_lr2", 1e-3: "adam", 1e-4: "adam_lr4"}
    curves = [
        curve("mnist", "cbo", decay(2.3, cbo_end, epochs, seeds), M=20, N=N, settings={"dt": 0.1}),
        curve(
            "mnist", "hybrid", leaping(epochs, seeds, 50) if hybrid_leaps else decay(2.3, hybrid_end, epochs, seeds),
            M=20, N=N, settings={"dt": 0.01},
        ),
    ]  # fmt: skip
    for (dt, name), leap in zip(names.items(), leaps, strict=True):
        early = decay(2.3, adam_end, min(epochs, adam_epochs), seeds)
        late = np.repeat(early[:, -1:], max(0, adam_epochs - epochs), axis=1)
        risk = leaping(adam_epochs, seeds, first) if leap else np.concatenate([early, late], axis=1)
        curves.append(curve("mnist", name, risk, M=20, N=1, method="adam", settings={"dt": dt}))
    return Evidence({"mnist": summary(*curves)}, tuple(costs))


@pytest.mark.parametrize(
    ("number", "results", "expected"),
    [
        (4, mnist(), HOLDS),
        (4, mnist(cbo_end=0.15), IN_PART),
        (4, mnist(cbo_end=0.05), FAILS),
        (5, mnist(), HOLDS),
        (5, mnist(hybrid_end=0.5), FAILS),
        (6, mnist(), HOLDS),
        (6, mnist(first=500), IN_PART),  # the hybrid stops before Adam's instability begins
        (6, mnist(leaps=(True, True, True, False)), IN_PART),
        (6, mnist(leaps=(False, False, True, True)), FAILS),
        (6, mnist(leaps=(True, True, True, False), hybrid_leaps=True), FAILS),
    ],
)
def test_mnist(number, results, expected):
    row = verdict(number, results)
    assert row["verdict"] == expected, row["seen"]


def test_a_hybrid_that_is_first_at_some_risks_only_is_faster_in_part():
    results = mnist()
    risk = results.summaries["mnist"]["risk"].values
    risk[1, :, 50:101] = risk[1, :, 50:51]  # the hybrid stops falling half way
    row = verdict(5, results)
    assert row["verdict"] == IN_PART
    assert "in the fewest epochs (it never gets to 0.2, never gets to 0.1);" in row["seen"]


def test_where_the_hybrid_is_not_first_is_said():
    results = mnist()
    risk = results.summaries["mnist"]["risk"].values
    risk[2:, :, 2:] = np.minimum(risk[2:, :, 2:], 1.0)  # Adam, too, is at 1 after two epochs
    risk[1, :, 2:] = np.minimum(risk[1, :, 2:], 1.0)
    row = verdict(5, results)
    assert row["verdict"] == IN_PART
    assert "in the fewest epochs (it takes 2 epochs to 2 against 2, takes 2 epochs to 1 against 2);" in row["seen"]


def test_where_adam_never_leaps_the_hybrid_is_not_put_to_the_test():
    row = verdict(6, mnist(leaps=(True, False, False, False)))
    assert row["verdict"] == FAILS
    assert row["seen"].endswith("of 100 epochs, Adam never leaps at that rate: not put to the test")


def test_speed_is_judged_in_seconds_too():
    slow = [cost("mnist", "hybrid", 20, 1000, epoch=10.0), cost("mnist", "adam", 20, 1, epoch=0.01),
            cost("mnist", "cbo", 20, 1000, epoch=3.0)]  # fmt: skip
    row = verdict(5, mnist(costs=slow))
    assert row["verdict"] == HOLDS
    assert row["details"]["verdict_in_seconds"] == FAILS
    table = speed.speed(mnist(costs=slow))["epochs_to_reach"]["methods"]
    assert table["hybrid"]["seconds"][0.5] == pytest.approx(10 * table["hybrid"]["epochs"][0.5])
    assert table["hybrid"]["epochs"][0.5] < table["adam"]["epochs"][0.5] < table["cbo"]["epochs"][2.0] * 100


# Multi-task -------------------------------------------------------------------------------------------------------


def multi_task(median_end=1e-3, minimum_end=8e-4, final=1e-3, epochs=1000, seeds=10, tasks=100):
    final = np.broadcast_to(np.asarray(final, float), (seeds, tasks))
    settings = {"tasks": tasks, "points": 8000}
    median = decay(1e-2, median_end, epochs, seeds, noise=0.02)
    minimum = decay(8e-3, minimum_end, epochs, seeds, noise=0.02, seed=1)
    risks = {"risk_task_min": minimum, "risk_task_final": final}
    return Evidence(
        {
            "multi_task": summary(
                curve("multi_task", "multi_task_cbo", median, M=100, N=200, settings=settings, **risks)
            )
        }
    )


def some_bad_tasks(bad):
    final = np.full(100, 1e-3)
    final[np.array(bad) - 1] = 0.1
    return final


@pytest.mark.parametrize(
    ("number", "results", "expected"),
    [
        (7, multi_task(), HOLDS),
        (7, multi_task(minimum_end=8e-2), FAILS),
        (7, multi_task(median_end=2e-2), FAILS),
        (8, multi_task(), HOLDS),
        (8, multi_task(final=some_bad_tasks([1, 100])), IN_PART),
        (8, multi_task(final=some_bad_tasks([2, 99])), HOLDS),  # not among the five
        (8, multi_task(final=1e-2), FAILS),
    ],
)
def test_multi_task(number, results, expected):
    row = verdict(number, results)
    assert row["verdict"] == expected, row["seen"]


def test_risks_that_fall_and_rise_again_fall_in_part():
    results = multi_task()
    data = results.summaries["multi_task"]
    for name in ("risk", "risk_task_min"):
        values = data[name].values
        values[..., 1:] = values[..., 1:] * np.repeat([1, 0.2, 0.1, 0.5, 1, 2, 3, 4, 5, 6], 100)
    row = verdict(7, results)
    assert row["verdict"] == IN_PART, row["seen"]


def memory(shared, separate, shared_peak=None, separate_peak=None, N=200):
    risk = decay(1e-2, 1e-3, 10, 1)
    curves = [
        curve("multi_task_memory", name, risk, M=100, N=N, method=method, settings={"tasks": tasks})
        for name, method, tasks in (
            ("shared_1", "multi_task_cbo", 1), ("shared_20", "multi_task_cbo", 20),
            ("separate_1", "separate_cbo", 1), ("separate_20", "separate_cbo", 20),
        )
    ]  # fmt: skip
    costs = (
        cost("multi_task_memory", "shared_20", 100, N, state=shared, peak=shared_peak or shared),
        cost("multi_task_memory", "separate_20", 100, N, state=separate, peak=separate_peak or separate),
    )
    return Evidence({"multi_task_memory": summary(*curves)}, costs)


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (memory(10**6, 2 * 10**7), HOLDS),
        (memory(10**6, 2 * 10**7, 3 * 10**7, 2 * 10**7), IN_PART),
        (memory(2 * 10**7, 10**6), FAILS),
        (memory(10**6, 2 * 10**7, N=50), NOT_TESTED),
    ],
)
def test_memory(results, expected):
    row = verdict(9, results)
    assert row["verdict"] == expected, row["seen"]


# Square -----------------------------------------------------------------------------------------------------------

SIZES = (10, 25, 50, 100, 200)
FALLING = (1e-3, 4e-4, 2e-4, 1.6e-4, 1.5e-4)


def square(along_M=FALLING, along_N=FALLING, epochs=600, seeds=10, noise=0.01, times=(5e-2, 5e-3), sizes=SIZES):
    """The risks at the last epoch along M and along N; both sweeps end in the same corner."""

    def part(M, N, end, seed):
        risk = decay(1e-1, end, epochs, seeds, noise=noise, seed=seed)
        return curve("square", "ot_cbo", risk, M=M, N=N, settings={"points": 5000})

    top = sizes[-1]
    curves = [part(M, top, end, i) for i, (M, end) in enumerate(zip(sizes, along_M, strict=True))]
    curves += [part(top, N, end, 20 + i) for i, (N, end) in enumerate(zip(sizes[:-1], along_N[:-1], strict=True))]
    curves.append(curve("square", "cbo", decay(1e-1, 1e-3, 600, 3), M=top, N=top, settings={"points": 5000}))
    costs = [cost("square", name, top, top, iteration=t) for name, t in zip(("ot_cbo", "cbo"), times, strict=True)]
    return Evidence({"square": summary(*curves)}, tuple(costs))


BUMPY = (1e-3, 4e-4, 5e-4, 1.6e-4, 1.5e-4)
RISING = FALLING[::-1]
STRAIGHT = (1e-3, 6e-4, 4e-4, 2.5e-4, 1.5e-4)


@pytest.mark.parametrize(
    ("number", "results", "expected"),
    [
        (10, square(), HOLDS),
        (10, square(along_M=BUMPY), IN_PART),
        (10, square(along_M=RISING, along_N=(*FALLING[:4], RISING[4])), FAILS),
        (11, square(), HOLDS),
        (11, square(along_N=BUMPY), IN_PART),
        (11, square(along_M=(*FALLING[:4], RISING[4]), along_N=RISING), FAILS),
        (12, square(), HOLDS),
        (12, square(along_N=STRAIGHT), IN_PART),
        (12, square(along_M=(4e-4, 4e-4, 4e-4, 4e-4, 1.5e-4), along_N=(4e-4, 4e-4, 4e-4, 4e-4, 1.5e-4)), FAILS),
        (13, square(), HOLDS),
        (13, square(times=(1e-3, 5e-3)), FAILS),
        (13, square(sizes=(4, 8, 12, 20, 32)), NOT_TESTED),
    ],
)
def test_square(number, results, expected):
    row = verdict(number, results)
    assert row["verdict"] == expected, row["seen"]


# Theory -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, HOLDS),
        ({"more_atoms_better": 2}, IN_PART),
        ({"example_gain": 0.07}, IN_PART),
        ({"residual": 1e-3}, FAILS),
    ],
)
def test_proposition_2(changes, expected):
    assert verdict(14, Evidence(checks={"barycentres": {**CHECK, **changes}}))["verdict"] == expected


def test_the_check_of_proposition_2_finds_what_linear_programming_finds():
    """Two particles: an optimal coupling is a permutation (Birkhoff), so more atoms never help. Three: they may."""
    rng = np.random.default_rng(5)
    for _ in range(3):
        x, weights = rng.uniform(-2, 2, (2, 3, 3)), rng.dirichlet(np.ones(2))
        assert barycentres.gain_of_more_atoms(x, weights) == pytest.approx(0.0, abs=1e-9)
    example = np.array(barycentres.EXAMPLE, float)
    assert barycentres.gain_of_more_atoms(example, np.full(3, 1 / 3)) > 0.07
    found = barycentres.check_barycentres(3, 1)
    assert found["residual"] < 1e-12


def test_a_wrong_barycentre_has_a_residual():
    rng = np.random.default_rng(0)
    x, weights = rng.uniform(-2, 2, (3, 4, 2)), rng.dirichlet(np.ones(3))
    found = barycentres.barycentre(x, weights, 100).support
    assert barycentres.residual(x, weights, found) < 1e-12
    assert barycentres.residual(x, weights, found + 0.1) == pytest.approx(0.1)


def variance_decay(factor, weights="equal", dt=0.1, quiet_from=0, epochs=60):
    """A variance that is multiplied by ``factor`` in each quiet step, after a noisy beginning."""
    variance = np.full((3, epochs + 1), 50.0)
    quiet = np.arange(epochs + 1 - quiet_from - 1)
    variance[:, quiet_from + 1 :] = 7.0 * factor**quiet
    settings = {"lambda": 1.0, "dt": dt, "quiet_from": quiet_from, "quiet_weights": weights}
    return curve(
        "variance_decay", f"v_{weights}", variance, M=50, N=50, method="ot_cbo", settings=settings, variance=variance
    )


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([variance_decay(0.81), variance_decay(0.95, "gibbs")], HOLDS),
        ([variance_decay(0.81, quiet_from=20)], HOLDS),
        ([variance_decay(0.25, dt=0.5, epochs=80)], HOLDS),  # beyond what float64 can tell
        ([variance_decay(0.9)], IN_PART),
        ([variance_decay(1.01)], FAILS),
        ([variance_decay(0.81, "gibbs")], NOT_TESTED),
    ],
)
def test_proposition_3(parts, expected):
    row = verdict(15, Evidence({"variance_decay": summary(*parts)}))
    assert row["verdict"] == expected, row["seen"]


def consensus(formed, epochs=1000, widths=(10, 100)):
    """``formed``: by sigma^2, whether the variance vanishes; lambda is 1."""
    curves = []
    for index, (sigma_squared, yes) in enumerate(formed.items()):
        for M in widths:
            variance = decay(10.0, 1e-28 if yes else 1e20, epochs, 3)
            settings = {"lambda": 1.0, "sigma_squared": sigma_squared}
            curves.append(
                curve("consensus_condition", f"s{index}", variance, M=M, N=50, method="cbo", settings=settings,
                      variance=variance)
            )  # fmt: skip
    return Evidence({"consensus_condition": summary(*curves)})


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (consensus({1.0: True, 1.8: True, 2.5: False}), HOLDS),
        (consensus({1.0: True, 1.8: True, 2.5: True, 8.0: False}), IN_PART),
        (consensus({1.0: True, 1.8: False, 2.5: False}), FAILS),
        (consensus({1.0: True, 2.5: False}, epochs=100), NOT_TESTED),
        (consensus({1.0: True, 2.5: False}, widths=(10,)), NOT_TESTED),
        (consensus({1.0: True, 1.8: True}), NOT_TESTED),
    ],
)
def test_the_condition_for_consensus(results, expected):
    row = verdict(16, results)
    assert row["verdict"] == expected, row["seen"]


# All of them ------------------------------------------------------------------------------------------------------


def test_sixteen_claims_each_with_its_line_and_its_reason():
    assert [claim.id for claim in claims.CLAIMS] == list(range(1, 17))
    for claim in claims.CLAIMS:
        assert all((claim.section, claim.claim, claim.statistic, claim.threshold, claim.why))


def test_without_results_nothing_is_guessed():
    rows = claims.judge_all(Evidence())
    assert {row["verdict"] for row in rows} == {NOT_TESTED}
    assert all(row["seen"] for row in rows)


@pytest.mark.parametrize(
    ("numbers", "results"),
    [
        ((1, 2, 3), sine(seeds=3)),
        ((1, 2, 3), sine(epochs=300)),
        ((1, 2, 3), sine(N=50)),
        ((4, 5, 6), mnist(epochs=10)),
        ((4, 5, 6), mnist(N=100)),
        ((4, 5, 6), mnist(seeds=2)),
        ((6,), mnist(adam_epochs=60)),
        ((7, 8), multi_task(epochs=100)),
        ((7, 8), multi_task(seeds=3)),
        ((7,), multi_task(tasks=5)),
        ((10, 11, 12), square(epochs=100)),
        ((10, 11, 12), square(seeds=2)),
        ((10, 11, 12), square(along_M=FALLING[1:], along_N=FALLING[1:], sizes=SIZES[1:])),
        ((10, 11, 12, 13), square(sizes=(4, 8, 12, 20, 32))),
    ],
)
def test_a_smaller_scale_is_not_judged(numbers, results):
    for number in numbers:
        row = verdict(number, results)
        assert (row["verdict"], row["value"]) == (NOT_TESTED, None), row["seen"]
        assert row["seen"]


# Statistics -------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12))
def test_the_interval_lies_among_the_values(values):
    values = np.array(values)
    _, (low, high) = statistics.bootstrap(lambda v: float(np.median(v)), values)
    assert values.min() <= low <= high <= values.max()


def test_the_interval_has_its_coverage(monkeypatch):
    """Of many samples of a known law, about 95 % have an interval for the mean that contains the true mean."""
    monkeypatch.setattr(statistics, "RESAMPLES", 1000)
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(60):
        _, (low, high) = statistics.bootstrap(lambda v: float(v.mean()), rng.standard_normal(40))
        hits += low <= 0 <= high
    assert hits >= 50  # 57 expected; fewer than 50 has a chance below 1 in 1000


@pytest.mark.parametrize(("signs", "p"), [([1] * 10, 2 / 1024), ([1] * 5 + [-1] * 5, 1.0), ([1, 0, 0], 1.0)])
def test_the_sign_test(signs, p):
    assert statistics.sign_test(np.array(signs)) == pytest.approx(p)


def test_the_crossing():
    below, above = np.full((3, 5), 1.0), np.full((3, 5), 2.0)
    assert statistics.crossing(below, above) == 0
    assert np.isinf(statistics.crossing(above, below))
    late = above.copy()
    late[:, 3:] = 0.5
    assert statistics.crossing(late, below) == 3
    late[:, 4] = 1.5
    assert np.isinf(statistics.crossing(late, below))


def test_epochs_to_reach_and_leaps():
    risk = np.array([[1.0, 0.5, 0.1, 2.0], [1.0, 0.9, 0.8, 0.7]])
    np.testing.assert_array_equal(statistics.epochs_to_reach(risk, 0.5), [1, np.inf])
    np.testing.assert_array_equal(statistics.leaps(risk), [[False, False, False, True], [False] * 4])


# Files ------------------------------------------------------------------------------------------------------------


def test_the_command_writes_data_table_and_page(tmp_path):
    from cbo_pipeline.results import netcdf

    data = sine().summaries["sine"]
    data["risk_over_seeds"] = data["risk"].median("seed").expand_dims(statistic=["median"])
    data.attrs = {"kind": "summary", "experiment": "sine"}
    netcdf.write(data, tmp_path / "sine.nc")
    (tmp_path / "check.json").write_text(json.dumps({"check": "barycentres", **CHECK}))
    (tmp_path / "cost.json").write_text(json.dumps(cost("sine", "cbo", 100, 200)))
    names = {name: str(tmp_path / f"out.{name}") for name in ("json", "markdown", "html", "speed")}
    options = [text for name, path in names.items() for text in (f"--{name}", path)]
    given = [str(tmp_path / name) for name in ("sine.nc", "check.json", "cost.json")]
    assert main(["claims", *given, *options]) == 0
    rows = json.loads((tmp_path / "out.json").read_text())
    assert [row["id"] for row in rows] == list(range(1, 17))
    assert {"id", "section", "claim", "statistic", "value", "spread", "verdict"} <= set(rows[0])
    assert [row["verdict"] for row in rows if row["id"] in (1, 2, 3, 14)] == [HOLDS] * 4
    table, page = ((tmp_path / name).read_text() for name in ("out.markdown", "out.html"))
    for row in rows:
        assert row["claim"] in table
        assert f"claim-{row['id']}" in page
    assert json.loads((tmp_path / "out.speed").read_text())["crossing"]["epoch"] > 0


def test_other_files_are_refused_by_name(tmp_path, capsys):
    for name, text in (("a.json", "{}"), ("b.json", "[1]"), ("c.json", "{")):
        path = tmp_path / name
        path.write_text(text)
        assert main(["claims", str(path)]) == 2
        assert name in capsys.readouterr().err
    with pytest.raises(FileRefused):
        files.read([tmp_path / "missing.json"])


def test_numbers_that_json_does_not_know():
    found = pages.plain({"a": np.inf, "b": (np.nan, np.float64(1.5)), 3: np.int64(2), "c": np.array([True])})
    assert found == {"a": None, "b": [None, 1.5], "3": 2, "c": [True]}
    assert [pages.number(v) for v in (None, np.nan, np.inf, 0.00123456)] == ["–", "–", "never", "0.00123"]
