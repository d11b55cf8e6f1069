"""Other readings of the paper: what workflow/readings.yaml declares, read and checked."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cbo_pipeline.claims import CLAIMS
from cbo_pipeline.claims.evidence import Choices
from cbo_pipeline.config import messages, yaml_files
from cbo_pipeline.config.schema import project_file

FILE = "workflow/readings.yaml"
AS_GOOD, POSSIBLE = "as_good", "possible"
GRADES = (AS_GOOD, POSSIBLE)
NAME = re.compile(r"[a-z][a-z0-9_]*")
KEYS = ("choice", "value", "grade", "claims", "config", "judge")
NEEDED = ("choice", "value", "grade", "claims")
USUAL_SEEDS = 10
# What some keys of Choices take: the series that can stand for the risk, and ways to compare and to average.
JUDGED = {
    "risk": ("risk", "risk_loop", "risk_min", "risk_median", "risk_test"),
    "ends": ("pairs", "curves"),
    "over_seeds": ("mean", "median"),
}
FILE_KEYS = ("most_seeds", "choices", "readings", "together", "crossed")


@dataclass(frozen=True)
class Choice:
    """An open choice of the paper, and what the base takes."""

    what: str
    base: str


@dataclass(frozen=True)
class Reading:
    """Another value of one open choice: keys laid over the config, or another way to read stored series."""

    name: str
    choice: str
    value: str
    grade: str
    claims: tuple[int, ...]
    config: dict = field(default_factory=dict)
    judge: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Readings:
    """All that readings.yaml declares."""

    most_seeds: Mapping[str, int]  # by experiment
    choices: Mapping[str, Choice]
    entries: Mapping[str, Reading]
    together: tuple[tuple[str, ...], ...]
    crossed_experiment: str | None
    crossed_claims: tuple[int, ...]
    crossed_seeds: int
    crossed_same: Mapping[str, tuple[str, ...]]  # by reading: the choices that make no difference beside it

    def seeds_of(self, experiment: str) -> int:
        """How many seeds a reading trains of a curve at most, one reading at a time."""
        return self.most_seeds.get(experiment, USUAL_SEEDS)

    def crossed(self) -> dict[str, list[Reading]]:
        """By choice: the readings as good as ours that touch the claims whose readings are all combined."""
        found: dict[str, list[Reading]] = {}
        for reading in self.entries.values():
            if reading.grade == AS_GOOD and set(reading.claims) & set(self.crossed_claims):
                found.setdefault(reading.choice, []).append(reading)
        return found


def load(path: str | Path | None = None) -> Readings:
    """Read and check readings.yaml: every mistake is one line that starts with the key."""
    content = yaml_files.read(path or project_file(FILE))
    _only(content, FILE_KEYS, "")
    _has(content, ("choices", "readings"), "")
    choices = {}
    for name, own in _table(content["choices"], "choices"):
        _only(own, ("what", "base"), f"choices.{name}")
        _has(own, ("what", "base"), f"choices.{name}")
        choices[name] = Choice(own["what"], own["base"])
    entries = {name: _reading(name, own, choices) for name, own in _table(content["readings"], "readings")}
    together = tuple(_names(names, entries, f"together[{i}]") for i, names in enumerate(content.get("together", ())))
    crossed = content.get("crossed") or {}
    _only(crossed, ("experiment", "claims", "most_seeds", "same"), "crossed")
    claims = _claims(crossed.get("claims", []), "crossed.claims")
    same = _same(crossed.get("same") or {}, entries, choices)
    most = {name: _seeds(own, f"most_seeds.{name}") for name, own in _mapping(content, "most_seeds").items()}
    seeds = _seeds(crossed.get("most_seeds", USUAL_SEEDS), "crossed.most_seeds")
    return Readings(most, choices, entries, together, crossed.get("experiment"), claims, seeds, same)


def _mapping(content: Mapping, key: str, place: str = "") -> Mapping:
    own = content.get(key) or {}
    if not isinstance(own, Mapping):
        raise messages.refuse(place or key, f"{messages.short(own)} is not a mapping of experiments", "wrong-type")
    return own


def _seeds(number: Any, key: str) -> int:
    if type(number) is not int or number < 1:
        raise messages.refuse(key, f"{messages.short(number)} is not a number of seeds", "wrong-type")
    return number


def _reading(name: str, own: Mapping, choices: Mapping[str, Choice]) -> Reading:
    key = f"readings.{name}"
    if not NAME.fullmatch(name):
        raise messages.refuse(key, "a name has lower-case letters, digits and single underscores", "bad-name")
    _only(own, KEYS, key)
    _has(own, NEEDED, key)
    messages.require_known(own["choice"], choices, f"{key}.choice", "choice")
    messages.require_known(own["grade"], GRADES, f"{key}.grade", "grade")
    judge = own.get("judge") or {}
    _check_judge(judge, f"{key}.judge")
    config = own.get("config") or {}
    _only(config, ("experiments",), f"{key}.config")
    if not config and not judge:
        raise messages.refuse(key, "changes nothing: it has neither config nor judge", "changes-nothing")
    claims = _claims(own["claims"], f"{key}.claims")
    return Reading(name, own["choice"], str(own["value"]), own["grade"], claims, config, judge)


def _check_judge(judge: Any, key: str) -> None:
    """Refuse what ``Choices`` does not know: a judge would take it for the usual way to read the series."""
    _only(judge, [f.name for f in dataclasses.fields(Choices)], key)
    for name, value in judge.items():
        place = f"{key}.{name}"
        if name in JUDGED:
            if value not in JUDGED[name]:
                words = f"{messages.short(value)} is not one of {', '.join(JUDGED[name])}"
                raise messages.refuse(place, words, "not-an-option")
        elif name == "tail":
            _whole_number(value, place)
        elif name == "epochs":
            for experiment, last in _mapping(judge, name, place).items():
                messages.require_known(experiment, _judged_experiments(), place, "experiment")
                _whole_number(last, f"{place}.{experiment}")
        elif not isinstance(value, str) or not NAME.fullmatch(value):
            raise messages.refuse(place, f"{messages.short(value)} is not the name of a variant", "bad-name")


def _whole_number(value: Any, key: str) -> None:
    if type(value) is not int or value < 1:
        raise messages.refuse(key, f"{messages.short(value)} is not a number of epochs", "wrong-type")


def _judged_experiments() -> list[str]:
    """The experiments that claims look at."""
    return sorted({need.partition("/")[0] for claim in CLAIMS for need in claim.needs})


def _table(content: Any, key: str) -> Iterator[tuple[str, Mapping]]:
    if not isinstance(content, Mapping):
        raise messages.refuse(key, f"{messages.short(content)} is not a mapping of names", "wrong-type")
    for name, own in content.items():
        if not isinstance(own, Mapping):
            raise messages.refuse(f"{key}.{name}", f"{messages.short(own)} is not a mapping of keys", "wrong-type")
        yield str(name), own


def _only(content: Any, known: Sequence[str], key: str) -> None:
    if not isinstance(content, Mapping):
        raise messages.refuse(key, f"{messages.short(content)} is not a mapping of keys", "wrong-type")
    for name in content:
        if name not in known:
            place = f"{key}.{name}" if key else str(name)
            raise messages.refuse(place, f"unknown key{messages.closest(str(name), known)}", "unknown-key")


def _has(content: Mapping, needed: Iterable[str], key: str) -> None:
    for name in needed:
        if content.get(name) is None:
            raise messages.refuse(f"{key}.{name}" if key else name, "missing", "missing")


def _claims(numbers: Any, key: str) -> tuple[int, ...]:
    known = [claim.id for claim in CLAIMS]
    for number in numbers if isinstance(numbers, list) else [numbers]:
        if number not in known:
            words = f"unknown claim {messages.short(number)}; there are {known[0]} to {known[-1]}"
            raise messages.refuse(key, words, "unknown-name")
    return tuple(numbers) if isinstance(numbers, list) else (numbers,)


def _same(content: Any, entries: Mapping[str, Reading], choices: Mapping[str, Choice]) -> dict[str, tuple[str, ...]]:
    key = "crossed.same"
    if not isinstance(content, Mapping):
        raise messages.refuse(key, f"{messages.short(content)} is not a mapping of readings", "wrong-type")
    for reading, several in content.items():
        messages.require_known(reading, entries, key, "reading")
        if not isinstance(several, list) or not several:
            raise messages.refuse(
                f"{key}.{reading}", f"{messages.short(several)} is not a list of choices", "wrong-type"
            )
        for choice in several:
            messages.require_known(choice, choices, f"{key}.{reading}", "choice")
    return {reading: tuple(several) for reading, several in content.items()}


def _names(names: Any, entries: Mapping[str, Reading], key: str) -> tuple[str, ...]:
    for name in names if isinstance(names, list) else [names]:
        messages.require_known(name, entries, key, "reading")
    if not isinstance(names, list) or len(set(names)) < 2:
        raise messages.refuse(key, "two or more readings are taken together", "empty")
    if not set.intersection(*(set(entries[name].claims) for name in names)):
        raise messages.refuse(key, "these readings touch no claim together", "empty")
    return tuple(names)
