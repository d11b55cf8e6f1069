"""A folder of made-up results that has everything a page can show, in a second and without training."""

import json
from pathlib import Path

import numpy as np

import synthetic
from cbo_pipeline import claims
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.claims.rule import VERDICTS
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.results import checks, contract, netcdf, readings

EPOCHS, SEEDS = 60, 6
LEAP = (37, 1e3)  # the epoch and the size of a leap of Adam, which no chart may lose
STORED = np.r_[0:20, np.arange(20, 401, 20)]  # epochs of a run with thinned records
X, COARSE, FRAMES = np.linspace(0, 1, 41), np.linspace(0, 1, 21), [0, 1, 5, 20, 60]
CBO = {
    "dt": 0.1, "alpha": 1e5, "alpha_factor": 10, "alpha_every": 100, "alpha_max": 1e7, "lambda": 1.0,
    "sigma_squared": 1.6,
}  # fmt: skip
SINE = {"points": 800, "batch_size": 80, "label_noise": 0.01, "precision": "float32"}


def make(folder: Path, hostile: str = "") -> Path:
    """Fill the folder; ``hostile`` text is put wherever text of a config or of a result can get into a page."""
    for name, curves in experiments(hostile).items():
        write_summary(curves, name, folder / "summary" / f"{name}.nc")
    rows = verdicts(hostile)
    pages.write_verdicts(rows, folder / "claims.json")
    (folder / "speed.json").write_text(json.dumps(speed(hostile)))
    readings.write(other_readings(rows, hostile), folder / "readings.json")
    (folder / "figures").mkdir()
    for label in ("sine_training", "diagram_multi_task", "meanfield_diagram"):
        (folder / "figures" / f"{label}.png").write_bytes(PNG)
    (folder / "checks").mkdir(exist_ok=True)
    checks.write("spread", {"rows": spreads()}, folder / "checks" / "spread.json")
    return folder


def write_summary(curves: list, experiment: str, path: Path) -> None:
    """A summary of these curves."""
    data = synthetic.summary(*curves)
    data["example_seed"] = ("curve", np.zeros(data.sizes["curve"], int))
    data["risk_over_seeds"] = data["risk"].median("seed").expand_dims(statistic=["median"])
    netcdf.write(contract.stamp(data, "summary", experiment, "0" * 20, experiment=experiment), path)


def spreads() -> list[dict]:
    """Two runs in each precision: their particles agree, and differ more again in single precision."""
    rows = []
    for precision, later in (("float32", 1e3), ("float64", 1.0)):
        unit = float(np.finfo(precision).eps)
        one = {"precision": precision, "unit": unit, "epochs": [0, EPOCHS // 2, EPOCHS]}
        one["risk"] = [0.5, 1e-2, 1e-2 / later]
        rows += [{**one, "seed": seed, "spread": [20.0, unit, unit * later]} for seed in (0, 1)]
    return rows


def only_verdicts(folder: Path) -> Path:
    """A folder with nothing but claims.json."""
    pages.write_verdicts(verdicts(""), folder / "claims.json")
    return folder


# A grey dot.
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c6360000000020001737501180000000049454e44ae426082"
)


def fall(end: float, seed: int, epochs: int = EPOCHS, seeds: int = SEEDS, noise: float = 0.2) -> np.ndarray:
    return synthetic.decay(0.5, end, epochs, seeds, noise=noise, seed=seed)


def experiments(hostile: str) -> dict[str, list]:
    adam = fall(3e-4, 2, noise=0.5)
    adam[0, LEAP[0]] *= LEAP[1]
    text = {"comment": hostile} if hostile else {}
    settings = {**SINE, **CBO, **text}
    sine = [
        synthetic.curve("sine", "cbo", fall(5e-4, 1), M=100, N=200, settings=settings, variance=fall(1e-9, 5)),
        synthetic.curve("sine", "adam", adam, M=100, N=1, settings={**SINE, "dt": 0.1}),
        synthetic.curve("sine", "hybrid", fall(1e-4, 3), M=100, N=200, settings={**settings, "gamma": 0.7}),
        synthetic.curve("sine", "cbo_float64", fall(2e-3, 4), M=100, N=200, method="cbo", settings=settings),
    ]
    if hostile:
        sine.append(synthetic.curve("sine", hostile, fall(1e-3, 9), M=100, N=1, method="adam", settings=SINE))
    return {
        "sine": [with_example(curve) for curve in sine],
        "gathering": [gathering()],
        "mnist": mnist(),
        "mnist_horizon": [thinned("mnist_horizon", "hybrid", 1e-8, 40, seeds=1)],
        "mnist_floor": [thinned("mnist_floor", "hybrid", 1e-8, 41, seeds=2)],
        "multi_task": [multi_task()],
        "multi_task_memory": [
            synthetic.curve(
                "multi_task_memory", f"{kind}_{P}", fall(1e-3, P, seeds=2), M=100, N=200,
                method=method, settings={"tasks": P, **CBO},
            )
            for kind, method in (("shared", "multi_task_cbo"), ("separate", "separate_cbo"))
            for P in (1, 5)
        ],
        "square": [
            synthetic.curve(
                "square", "ot_cbo", fall(1e-4 * (1 + 5 / M + 9 / N), M + N), M=M, N=N, settings={**SINE, **CBO}
            )
            for M, N in ((10, 200), (50, 200), (200, 200), (200, 10), (200, 50))
        ],
        "variance_decay": [
            synthetic.curve(
                "variance_decay", f"random_{weights}", fall(1e-3, 8), M=20, N=20, method="ot_cbo",
                settings={**CBO, "quiet_from": 0, "quiet_weights": weights},
                variance=np.tile(0.81 ** np.arange(EPOCHS + 1.0), (SEEDS, 1)),
            )
            for weights in ("equal", "gibbs")
        ],
        "consensus_condition": [
            synthetic.curve(
                "consensus_condition", f"cbo_{k}", fall(1e-3, k), M=M, N=50, method="cbo",
                settings={**CBO, "sigma_squared": 2 * ratio}, variance=fall(0.5 * 10 ** (20 * (ratio - 1.5)), k),
            )
            for k, ratio in enumerate((0.5, 1.0, 2.0))
            for M in (10, 100)
        ],
    }  # fmt: skip


def with_example(curve):
    """A curve with target, last approximation and some data of its typical run."""
    target = np.sin(2 * np.pi * X)
    return curve.assign(
        target=(("curve", "x"), target[None]),
        prediction=(("curve", "x"), target[None] + 0.02 * np.cos(20 * X)[None]),
        sample_x=(("curve", "sample"), X[None, ::4]),
        sample_y=(("curve", "sample"), target[None, ::4] + 0.01),
    ).assign_coords(x=X, sample=np.arange(1, len(X[::4]) + 1))


def gathering():
    curve = with_example(synthetic.curve("gathering", "cbo", fall(5e-4, 1, seeds=1), M=100, N=200, settings=CBO))
    amplitudes = np.linspace(0, 1, len(FRAMES))
    shapes = np.sin(2 * np.pi * COARSE)
    spread = np.linspace(-1, 1, 12)
    particles = amplitudes[:, None, None] * shapes + (1 - amplitudes)[:, None, None] * spread[None, :, None]
    return curve.assign(
        prediction_over_time=(("curve", "snapshot", "coarse_x"), (amplitudes[:, None] * shapes)[None]),
        particle_prediction=(("curve", "kept_epoch", "particle", "coarse_x"), particles[None].astype(np.float32)),
    ).assign_coords(coarse_x=COARSE, snapshot=FRAMES, kept_epoch=FRAMES, particle=np.arange(1, 13))


def thinned(experiment: str, variant: str, end: float, seed: int, seeds: int = SEEDS, dt: float = 1e-2, **settings):
    """A long curve of which not every epoch was stored: its leap is only in the largest value in between."""
    risk = synthetic.decay(2.3, end, len(STORED) - 1, seeds, noise=0.1, seed=seed)
    largest = risk.copy()
    largest[0, 30] *= LEAP[1]
    return synthetic.curve(
        experiment, variant, risk, M=20, N=1, method="adam" if variant.startswith("adam") else variant,
        settings={"dt": dt, "images": 1000, "batch_size": 100, **settings}, stored=STORED, risk_smallest=risk,
        risk_largest=largest,
    )  # fmt: skip


def mnist():
    curves = [thinned("mnist", "adam_lr2", 1e-8, 30)]
    for k, variant in enumerate(("cbo", "hybrid", "adam")):
        settings = {**CBO, "dt": 10.0 ** -(k + 1), "images": 1000, "batch_size": 100}
        accuracy = 1 - fall(0.2, k, noise=0.01)
        curves.append(
            synthetic.curve("mnist", variant, fall(0.1, k), M=20, N=1000, settings=settings, accuracy=accuracy)
        )
    return [with_digits(curve) for curve in curves]


def with_digits(curve):
    """A curve with four test images and what its typical run says of them at some epochs."""
    images = np.zeros((1, 4, 28, 28), np.uint8)
    images[..., 4:24, 10:18] = 200
    probability = np.random.default_rng(0).dirichlet(np.ones(10), (1, len(FRAMES), 4)).astype(np.float32)
    return curve.assign(
        digit_pixels=(("curve", "digit", "row", "column"), images),
        digit_label=(("curve", "digit"), np.array([[7, 2, 1, 0]], np.int8)),
        digit_probability=(("curve", "snapshot", "digit", "class"), probability),
    ).assign_coords(
        snapshot=FRAMES, digit=np.arange(1, 5), row=np.arange(28), column=np.arange(28), **{"class": np.arange(10)}
    )


def multi_task():
    curve = synthetic.curve(
        "multi_task", "multi_task_cbo", fall(1e-3, 1), M=100, N=200, settings={**SINE, **CBO, "tasks": 9},
        risk_task_min=fall(5e-4, 1), risk_task_max=fall(3e-3, 1),
    )  # fmt: skip
    shifts = np.linspace(-1, 1, 9)[:, None]
    films = np.linspace(0, 1, len(FRAMES))[:, None, None] * (np.sin(2 * np.pi * COARSE) + shifts)
    target = np.sin(2 * np.pi * X) + shifts
    return curve.assign(
        target=(("curve", "task", "x"), target[None]),
        prediction=(("curve", "task", "x"), target[None] + 0.01),
        prediction_over_time=(("curve", "snapshot", "task", "coarse_x"), films[None]),
    ).assign_coords(x=X, coarse_x=COARSE, snapshot=FRAMES, task=np.arange(1, 10))


def verdicts(hostile: str) -> list[dict]:
    """The rows of all claims, with verdicts in turn and numbers to match."""
    rows = claims.judge_all(Evidence({}))
    for k, row in enumerate(rows):
        row["verdict"] = VERDICTS[k % len(VERDICTS)]
        if row["verdict"] != VERDICTS[-1]:
            value = (-0.4, 0.02, 0.1, 0.7)[k % len(VERDICTS)]
            row |= {"value": value, "spread": (value - 0.3, value + 0.3), "line": 0.0, "seeds": SEEDS}
            row["seen"] = f"CBO ends at 5.8e-4, Adam at {value}"
            row["details"] = {
                "parts": {f"part {p}": {"value": value, "interval": None, "verdict": row["verdict"]} for p in "ab"}
            }
        row["seen"] += hostile
    rows[3]["spread"] = (None, None)
    if hostile:
        for key in ("section", "claim", "statistic", "threshold", "why"):
            rows[0][key] += hostile
        rows[0]["details"]["parts"][hostile] = {"verdict": rows[0]["verdict"]}
    return rows


def speed(hostile: str) -> dict:
    return {
        "crossing": {"not_tested": f"too small{hostile}"},
        "epochs_to_reach": {"not_tested": f"too small{hostile}"},
        "costs": [
            synthetic.cost(
                "multi_task_memory", f"{kind}_{P}", 100, 200, state=10**5 * (P if kind == "separate" else 1)
            )
            for kind in ("shared", "separate")
            for P in (1, 5)
        ],
    }


def other_readings(rows: list[dict], hostile: str) -> dict:
    """Two readings, one of which turns claim 1."""
    kept = ("verdict", "value", "spread", "line", "seeds", "seen")
    base = {str(row["id"]): {key: row[key] for key in kept} for row in rows}
    turned = {
        **base["1"],
        "verdict": "does not hold",
        "value": 0.6,
        "spread": [0.2, 0.9],
        "base": "holds",
        "moved": True,
    }
    same = {**base["2"], "base": base["2"]["verdict"], "moved": False}
    return pages.plain(
        {
            "most_seeds": 10,
            "choices": {
                "scaling": {"what": "scaling", "base": "divided by M"},
                "precision": {"what": "floating point", "base": "float32"},
            },
            "claims": {str(row["id"]): row["claim"] for row in rows},
            "statistics": {str(row["id"]): row["statistic"] for row in rows},
            "base": base,
            "compared": base,
            "readings": [
                {"name": "plain", "choices": {"scaling": f"not divided{hostile}"}, "grade": "as_good", "runs": 20,
                 "words": f"scaling: not divided{hostile}",
                 "claims": {"1": turned, "2": same}},
                {"name": "float64", "choices": {"precision": "float64"}, "grade": "possible", "runs": 20,
                 "words": "floating point: float64",
                 "claims": {"1": {**base["1"], "base": "holds", "moved": False}}},
            ],
            "crossed": None,
            "robustness": {
                str(row["id"]): "turns with: scaling" if row["id"] == 1 else f"robust: the same under 2{hostile}"
                for row in rows
            },
        }
    )  # fmt: skip
