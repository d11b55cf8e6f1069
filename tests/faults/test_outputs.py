"""Outputs: every command that writes a file, to every place that must not be written."""

import json
import os
import shutil
import socket
from pathlib import Path

import netCDF4
import pytest

from cbo_pipeline import claims
from cbo_pipeline.claims import speed
from cbo_pipeline.claims.evidence import Evidence
from cbo_pipeline.cli.main import main
from cbo_pipeline.files import seal, whole_file
from cbo_pipeline.pages import claims as pages
from cbo_pipeline.results import checks, costs, kinds, netcdf, runs, summaries
from cbo_pipeline.training import cost
from cbo_pipeline.training.loop import train
from refusals import refusal, state
from tiny import OVERLAY, run_of

TRAIN = ["train", "--settings", run_of(epochs=1).json]
BARYCENTRES = dict.fromkeys(checks.CONTENT["barycentres"], 0.0)
# A command for every option that names a file to write; OUT is that file. Inputs are files of the fixture ``good``.
OUT = "OUT"
COMMANDS = {
    "train --output": [*TRAIN, "--output", OUT],
    "cost --output": ["cost", "--settings", run_of(epochs=1).json, "--output", OUT],
    "summarise --output": ["summarise", "run.nc", "--output", OUT],
    "join --output": ["join", "summary.nc", "--output", OUT],
    "figure --output": ["figure", "meanfield_diagram", "--output", OUT],
    "check-barycentres --output": ["check-barycentres", "--output", OUT],
    "check-rule --output": ["check-rule", "--output", OUT],
    "claims --json": ["claims", "summary.nc", "--json", OUT],
    "claims --markdown": ["claims", "summary.nc", "--markdown", OUT],
    "claims --html": ["claims", "summary.nc", "--html", OUT],
    "claims --speed": ["claims", "summary.nc", "--speed", OUT],
    "animate --output": ["animate", "summary.nc", "--output", OUT],
    "page --output": ["page", "--results", ".", "--output", OUT],
    "compare --json": ["compare", ".", ".", "--json", OUT],
    "readings --json": ["readings", "--results", ".", "--json", OUT],
    "readings --markdown": ["readings", "--results", ".", "--markdown", OUT],
    "record --output": ["record", "--settings", "{}", "--output", OUT],
    "fetch-mnist --output": ["fetch-mnist", "--data-dir", "data", "--output", OUT],
}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A folder with a good file of every kind that is cheap to make."""
    folder = tmp_path_factory.mktemp("made")
    run = run_of(epochs=1)
    netcdf.write(runs.dataset(run, train(run)), folder / "run.nc")
    netcdf.write(summaries.summarise_curve([folder / "run.nc"]), folder / "summary.nc")
    costs.write(cost.measure(run, 0.0), folder / "cost.json")
    checks.write("barycentres", BARYCENTRES, folder / "check.json")
    rows = claims.judge_all(Evidence())
    pages.write_verdicts(rows, folder / "claims.json")
    pages.write_speed(speed.speed(Evidence()), folder / "speed.json")
    pages.write_markdown(rows, speed.speed(Evidence()), folder / "claims.md")
    pages.write_html(rows, speed.speed(Evidence()), folder / "claims.html")
    return folder


@pytest.fixture
def good(made, tmp_path, monkeypatch) -> Path:
    """A copy of it, in which the commands run."""
    folder = tmp_path / "here"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


# --- Places that must not be written ------------------------------------------------------------------------------


def existing_folder(folder):
    (folder / "there").mkdir()
    return "there"


def linked_folder(folder):
    (folder / "there").mkdir()
    (folder / "link.png").symlink_to("there")
    return "link.png"


def pipe(folder):
    os.mkfifo(folder / "pipe.png")
    return "pipe.png"


def listening_socket(folder):
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.png")
    return "socket.png"


def thesis(folder):
    (folder / "thesis.png").write_text("forty pages")
    return "thesis.png"


def config(folder):
    shutil.copy(OVERLAY, folder / "own.png")
    return "own.png"


def picture_of_another_program(folder):
    (folder / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"a holiday" * 100)
    return "photo.png"


def cut_result(folder):
    (folder / "cut.png").write_bytes((folder / "run.nc").read_bytes()[:-500])
    return "cut.png"


def of_another_program(folder):
    netCDF4.Dataset(folder / "weather.png", "w").close()
    return "weather.png"


def linked_thesis(folder):
    thesis(folder)
    (folder / "link.png").symlink_to("thesis.png")
    return "link.png"


def broken_link(folder):
    (folder / "link.png").symlink_to("unmounted/disk/run.png")
    return "link.png"


def circle_of_links(folder):
    (folder / "link.png").symlink_to("other.png")
    (folder / "other.png").symlink_to("link.png")
    return "link.png"


def below_a_file(folder):
    (folder / "text").write_text("text")
    return "text/new.png"


def below_nowhere(folder):
    (folder / "link").symlink_to("unmounted")
    (folder / "text").write_text("text")
    return "text/deep/er/new.png"


PLACES = [
    (lambda folder: "", "no-name"),
    (lambda folder: "a\0b.png", "no-name"),
    (lambda folder: "-", "not-a-file"),
    (lambda folder: ".", "folder"),
    (lambda folder: "..", "folder"),
    (lambda folder: "new.png/", "folder"),
    (lambda folder: "new/.", "folder"),
    (lambda folder: "/dev/stdout", "not-a-file"),
    (lambda folder: "/proc/self/fd/1", "not-a-file"),
    (lambda folder: f"{'long' * 80}.png", "ENAMETOOLONG"),
    (existing_folder, "folder"),
    (linked_folder, "folder"),
    (pipe, "not-a-file"),
    (listening_socket, "not-a-file"),
    (thesis, "foreign"),
    (config, "foreign"),
    (picture_of_another_program, "foreign"),
    (cut_result, "foreign"),
    (of_another_program, "foreign"),
    (linked_thesis, "foreign"),
    (broken_link, "broken-link"),
    (circle_of_links, "no-such-place"),
    (below_a_file, "no-such-place"),
    (below_nowhere, "no-such-place"),
]
NAMES = ["nothing", "nul", "-", ".", "..", "new.png/", "new/.", "stdout", "/proc", "a long name"]
NAMES += [place.__name__ for place, _ in PLACES[len(NAMES) :]]


@pytest.mark.parametrize(("place", "code"), PLACES, ids=NAMES)
def test_no_command_writes_where_it_must_not(good, capsys, place, code, record_property):
    """One place, all commands: each is refused in one line, and the folder is as it was."""
    name = place(good)
    for command in COMMANDS.values():
        error = refusal(capsys, [name if word == OUT else word for word in command], good)
        assert error.code == code, (command, error)
        record_property("refused", "an output that is not a new file or one of ours")


@pytest.mark.parametrize("place", ["/dev/null", "/dev/full"])
def test_a_device_is_not_replaced(good, capsys, place, record_property):
    """As root a rename would do it, for all programs of the machine."""
    before = Path(place).stat()
    for command in COMMANDS.values():
        assert refusal(capsys, [place if word == OUT else word for word in command], good).code == "not-a-file"
        assert Path(place).stat() == before
        record_property("refused", "an output that is not a new file or one of ours")


@pytest.mark.parametrize("option", [name for name in COMMANDS if not name.startswith(("figure", "record", "fetch"))])
def test_a_result_of_another_kind_is_kept(good, capsys, option, record_property):
    """Every command with every good file that it does not make."""
    own = {"train": {"run.nc"}, "summarise": {"summary.nc"}, "join": {"summary.nc"}, "cost": {"cost.json"}}
    own |= {"check-barycentres": {"check.json"}, "check-rule": {"check.json"}, "page": {"nothing"}}
    by_option = {"--json": {"claims.json"}, "--speed": {"speed.json"}, "--markdown": {"claims.md", "claims.html"}}
    by_option["--html"] = by_option["--markdown"]
    command, _, name = option.partition(" ")
    mine = own.get(command) or (by_option[name] if command == "claims" else set())
    for other in sorted(path.name for path in good.iterdir()):
        words = [other if word == OUT else word for word in COMMANDS[option]]
        if other in mine or other in COMMANDS[option]:
            continue
        error = refusal(capsys, words, good)
        assert (error.code, error.key, error.file) == ("other-kind", name, other), error
        record_property("refused", "an output that is not a new file or one of ours")


def older_netcdf(path: Path) -> None:
    with netCDF4.Dataset(path, "w") as data:
        data.setncatts({"kind": "run", "contract": 1})
    seal(path)


def older_json(path: Path) -> None:
    path.write_text(json.dumps({"kind": "check", "contract": 1}))


@pytest.mark.parametrize(
    ("option", "make"), [("train --output", older_netcdf), ("check-barycentres --output", older_json)]
)
def test_a_result_of_an_older_contract_is_kept(good, capsys, option, make, record_property):
    make(good / "old")
    error = refusal(capsys, ["old" if word == OUT else word for word in COMMANDS[option]], good)
    assert (error.code, error.key, error.file) == ("other-contract", "--output", "old")
    record_property("refused", "an output that is not a new file or one of ours")


@pytest.mark.parametrize(
    ("option", "name"),
    [("train --output", "run.nc"), ("join --output", "summary.nc"), ("cost --output", "cost.json")],
)
def test_a_write_protected_result_is_kept(good, capsys, option, name, record_property):
    """A rename does not ask for the permission to write a file."""
    shutil.copy(good / name, good / "protected")
    (good / "protected").chmod(0o444)
    error = refusal(capsys, ["protected" if word == OUT else word for word in COMMANDS[option]], good)
    assert (error.code, error.file) == ("write-protected", "protected")
    record_property("refused", "an output that is not a new file or one of ours")


@pytest.mark.parametrize("force", [[], ["--force"]], ids=["", "--force"])
@pytest.mark.parametrize(
    ("words", "code", "key"),
    [
        (["join", "summary.nc", "--output", "summary.nc"], "is-input", "--output"),
        (["join", "summary.nc", "--output", "./summary.nc"], "is-input", "--output"),
        (["summarise", "run.nc", "--output", "run.nc"], "is-input", "--output"),
        (["claims", "summary.nc", "cost.json", "--json", "cost.json"], "is-input", "--json"),
        (["claims", "summary.nc", "--json", "new", "--speed", "new"], "twice", "--speed"),
        (["claims", "summary.nc", "--markdown", "new", "--html", "../here/new"], "twice", "--html"),
        (["figure", "meanfield_diagram", "--output", "a.png", "a.png"], "twice", "--output"),
        (["train", "--config", str(OVERLAY), "--experiment", "sine", "--method", "cbo", "--output", str(OVERLAY)],
         "is-input", "--output"),
        ([*TRAIN, "--output", "new.nc", "--checkpoint", "new.nc"], "is-output", "--checkpoint"),
        ([*TRAIN, "--output", "new.nc", "--checkpoint", "../here/new.nc"], "is-output", "--checkpoint"),
    ],
)  # fmt: skip
def test_an_output_is_neither_an_input_nor_another_output(good, capsys, words, code, key, force, record_property):
    error = refusal(capsys, [*words, *force], good)
    assert (error.code, error.key) == (code, key), error
    record_property("refused", "an output that is also an input, or another output")


@pytest.mark.parametrize(
    "place", [existing_folder, linked_folder, pipe, listening_socket, broken_link, circle_of_links, below_a_file]
)
def test_force_does_not_make_a_file_of_something_else(good, capsys, place, record_property):
    error = refusal(capsys, [*TRAIN, "--output", place(good), "--force"], good)
    assert error.code in ("folder", "not-a-file", "broken-link", "no-such-place")
    record_property("refused", "an output that is not a new file or one of ours")


@pytest.mark.parametrize(
    ("name", "code"),
    [("run.nc", "foreign"), ("claims.md", "foreign"), ("thesis", "foreign"), ("folder", "folder"),
     ("pipe", "not-a-file"), ("/dev/null", "not-a-file"), ("-", "not-a-file"), ("new/", "folder"),
     ("link", "broken-link")],
)  # fmt: skip
def test_a_checkpoint_is_no_other_file(good, capsys, name, code, record_property):
    """A finished run removes its checkpoint, and one of other settings is set aside: never another file."""
    (good / "thesis").write_text("forty pages")
    (good / "folder").mkdir()
    os.mkfifo(good / "pipe")
    (good / "link").symlink_to("unmounted/disk")
    error = refusal(capsys, [*TRAIN, "--output", "new.nc", "--checkpoint", name], good)
    assert error.code == code, error
    record_property("refused", "a checkpoint that is another file")


# --- Places that may be written -----------------------------------------------------------------------------------


def test_a_link_is_followed_and_stays_a_link(good, capsys):
    (good / "disk").mkdir()
    (good / "link.nc").symlink_to("disk/run.nc")
    for _ in range(2):  # a new file, then one of ours
        assert main([*TRAIN, "--output", "link.nc"]) == 0
        assert (good / "link.nc").readlink() == Path("disk/run.nc")
        assert (good / "disk" / "run.nc").read_bytes() == (good / "run.nc").read_bytes()
    assert [path.name for path in (good / "disk").iterdir()] == ["run.nc"]


def test_a_linked_folder_is_written_through(good, capsys):
    (good / "disk").mkdir()
    (good / "results").symlink_to("disk")
    assert main([*TRAIN, "--output", "results/deep/run.nc"]) == 0
    assert (good / "disk" / "deep" / "run.nc").is_file()
    assert (good / "results").is_symlink()


def test_a_new_file_an_empty_one_and_our_own_are_written(good, capsys):
    (good / "empty.nc").touch()
    for name in ("a folder/new $(touch pwned) ü.nc", "empty.nc", "run.nc", "run.nc"):
        assert main([*TRAIN, "--output", name]) == 0
        assert kinds.kind_of(good / name).name == "run"
    assert not list(good.rglob("pwned"))


@pytest.mark.parametrize("name", ["thesis", "protected", "claims.json", "cut"])
def test_force_replaces_a_file(good, capsys, name):
    (good / "thesis").write_text("forty pages")
    (good / "protected").write_text("forty pages")
    (good / "protected").chmod(0o444)
    (good / "cut").write_bytes((good / "run.nc").read_bytes()[:-500])
    assert main([*TRAIN, "--output", name]) == 2
    assert main([*TRAIN, "--output", name, "--force"]) == 0
    assert kinds.kind_of(good / name).name == "run"


@pytest.mark.parametrize(
    ("option", "name", "kind"),
    [("record --output", "page.html", "settings"), ("figure --output", "a.png", "figure"),
     ("figure --output", "a.pdf", "figure"), ("figure --output", "a.svg", "figure"),
     ("claims --markdown", "a.md", "verdicts"), ("claims --html", "a.html", "verdicts"),
     ("claims --json", "a.json", "claims"), ("claims --speed", "b.json", "speed")],
)  # fmt: skip
def test_what_a_command_wrote_it_writes_again_with_equal_bytes(good, capsys, option, name, kind):
    command = [name if word == OUT else word for word in COMMANDS[option]]
    assert main(command) == 0
    first = (good / name).read_bytes()
    assert kinds.kind_of(good / name).name == kind
    assert main(command) == 0
    assert (good / name).read_bytes() == first


def test_a_run_of_other_settings_is_replaced_with_a_remark(good, capsys):
    assert main([*TRAIN, "--output", "run.nc"]) == 0
    assert "other settings" not in capsys.readouterr().err
    assert main(["train", "--settings", run_of(epochs=2).json, "--output", "run.nc"]) == 0
    assert "run.nc: holds a run with other settings, which is replaced" in capsys.readouterr().err


def test_a_failed_write_leaves_what_was_there(good):
    before = state(good)

    def fail():
        with whole_file(good / "run.nc") as partial:
            partial.write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert state(good) == before


# --- Folders ------------------------------------------------------------------------------------------------------


FOLDERS = {
    "a folder of somebody else's": ("theirs", "foreign"),
    "what is published": ("published", "is-input"),
    "a folder in it": ("published/new", "is-input"),
    "a folder around it": (".", "is-input"),
    "a file": ("claims.md", "not-a-folder"),
    "below a file": ("claims.md/new", "no-such-place"),
    "a broken link": ("link", "not-a-folder"),
}


@pytest.mark.parametrize(("name", "code"), FOLDERS.values(), ids=FOLDERS)
def test_redraw_fills_no_folder_that_holds_something_else(good, capsys, name, code, record_property):
    """It would replace results by rounded ones."""
    (good / "theirs").mkdir()
    (good / "theirs" / "claims.json").write_text("mine")
    (good / "published").mkdir()
    (good / "link").symlink_to("unmounted")
    error = refusal(capsys, ["redraw", "published", "--output", name], good)
    assert error.code == code, error
    record_property("refused", "a folder that must not be filled")


@pytest.mark.parametrize("name", ["theirs", "claims.md", "summary.nc"])
def test_publish_clears_no_folder_of_others(good, capsys, name, record_property):
    """Not even one with a page about `make publish`, such as a checkout of the project."""
    (good / "theirs").mkdir()
    (good / "theirs" / "README.md").write_text("my own page on `make publish`")
    for part in ("summary", "benchmarks/sine/cbo"):
        (good / part).mkdir(parents=True)
    shutil.copy(good / "summary.nc", good / "summary" / "sine.nc")
    (good / "benchmarks" / "sine" / "cbo" / "M5_N8_seed0.tsv").write_text("s\tcpu_time\tmax_rss\n1\t1\t1\n")
    error = refusal(capsys, ["publish", "--results", ".", "--output", name], good)
    assert [path.name for path in (good / "theirs").iterdir()] == ["README.md"]
    assert error.code in ("foreign", "not-a-folder"), error
    record_property("refused", "a folder that must not be filled")
