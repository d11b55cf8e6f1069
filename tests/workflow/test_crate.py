"""The RO-Crate of published results: valid by its profiles, complete, the same bytes each time; without a network."""

import dataclasses
import hashlib
import json
import re
import socket

import pytest

from cbo_pipeline.errors import UserError
from cbo_pipeline.pages import crate, provenance, publish
from tiny import ROOT

REPRODUCTION = ROOT / "docs" / "reproduction"
CONTEXT = "https://w3id.org/ro/crate/1.1/context"
MADE = provenance.Made("0123456789ab", "a machine", 1.0, 3600.0, runs=4, curves=2, versions={"numpy": "2"})
CONTENT = {
    "README.md": b"# page",
    "claims.json": b"[]",
    "provenance.json": b"{}",
    "figures/sine_training.png": b"png",
    "summary/sine.nc": b"netcdf",
}
# The terms of RO-Crate 1.1 that our crate uses: no package ships the whole context, and tests fetch nothing.
OF_BIOSCHEMAS = {
    "ComputationalWorkflow": "https://bioschemas.org/ComputationalWorkflow",
    "FormalParameter": "https://bioschemas.org/FormalParameter",
    "input": "https://bioschemas.org/ComputationalWorkflow#input",
    "output": "https://bioschemas.org/ComputationalWorkflow#output",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "File": "http://schema.org/MediaObject",
}
OF_SCHEMA_ORG = (
    "CreateAction CreativeWork ComputerLanguage Dataset Organization ScholarlyArticle SoftwareSourceCode about"
    " actionStatus additionalType agent author citation contentSize creator dateModified datePublished description"
    " encodingFormat endTime exampleOfWork hasPart identifier instrument keywords license mainEntity mentions name"
    " object programmingLanguage publisher result url version workExample"
)


@pytest.fixture
def published(tmp_path):
    """A small folder as publish leaves it, with its crate."""
    for name, content in CONTENT.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert crate.copy_workflow(tmp_path, ROOT)
    files = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    crate.write(tmp_path, files, MADE, "Two curves, four runs.", ROOT)
    return tmp_path


def entities_of(folder) -> dict[str, dict]:
    """What the crate of a folder describes, by its place."""
    return {entity["@id"]: entity for entity in json.loads((folder / crate.NAME).read_text())["@graph"]}


def issues(folder, severity: str, monkeypatch) -> dict[str, list[str]]:
    """What roc-validator finds, by severity, with its own profiles; it may ask for the context and nothing else."""
    from rocrate_validator import services
    from rocrate_validator.utils import http

    terms = {name: f"http://schema.org/{name}" for name in OF_SCHEMA_ORG.split()} | OF_BIOSCHEMAS
    content = {"@context": terms}

    class Answer:
        status_code, headers, text = 200, {"Content-Type": "application/ld+json"}, json.dumps(content)

        def json(self):
            return content

    def get(self, url, **options):
        assert url == CONTEXT
        return Answer()

    def no_network(*arguments):
        raise AssertionError("the network was used")

    monkeypatch.setattr(http.HttpRequester, "get", get, raising=False)
    monkeypatch.setattr(socket.socket, "connect", no_network)
    found = services.validate(
        {"rocrate_uri": str(folder), "profile_identifier": "workflow-run-crate", "requirement_severity": severity}
    )
    messages: dict[str, list[str]] = {"REQUIRED": [], "RECOMMENDED": []}
    for issue in found.get_issues():
        messages[issue.severity.name].append(issue.message)
    return messages


@pytest.mark.filterwarnings("ignore")
def test_the_crate_is_valid_by_its_profiles(published, monkeypatch):
    found = issues(published, "RECOMMENDED", monkeypatch)
    assert found["REQUIRED"] == []
    # What is recommended beyond: addresses on the web, which the project does not have.
    assert [message for message in found["RECOMMENDED"] if not re.search("url|URI", message, re.IGNORECASE)] == []


@pytest.mark.filterwarnings("ignore")
def test_the_published_crate_is_valid_too(monkeypatch):
    found = issues(REPRODUCTION, "RECOMMENDED", monkeypatch)
    assert found["REQUIRED"] == []
    assert [message for message in found["RECOMMENDED"] if not re.search("url|URI", message, re.IGNORECASE)] == []


def test_the_published_crate_describes_every_file_and_no_other():
    entities = entities_of(REPRODUCTION)
    described = {id: entity for id, entity in entities.items() if "File" in entity["@type"]}
    found = {path.relative_to(REPRODUCTION).as_posix(): path for path in REPRODUCTION.rglob("*") if path.is_file()}
    assert set(described) == set(found) - {crate.NAME, publish.MANIFEST}
    for id, entity in described.items():
        assert entity["sha256"] == hashlib.sha256(found[id].read_bytes()).hexdigest(), id
    inputs = [one["@id"] for one in entities["#run"]["object"]]
    assert inputs == [id for _, id, _, _ in crate.INPUTS]


@pytest.mark.parametrize(
    ("seeds", "files", "used"),
    [
        ({"sine": 10}, (), ["config"]),
        ({"sine": 100}, (), ["config", "many_seeds"]),
        ({"sine": 10, "mnist_horizon": 5}, (), ["config", "horizon"]),
        ({"sine": 10}, ("readings/float64/summary/sine/cbo_M5_N8.nc",), ["config", "readings"]),
    ],
)
def test_an_overlay_is_an_input_if_results_came_of_it(published, seeds, files, used):
    for name in files:
        (published / name).parent.mkdir(parents=True)
        (published / name).touch()
    paths = sorted(path for path in published.rglob("*") if path.is_file() and path.name != crate.NAME)
    crate.write(published, paths, dataclasses.replace(MADE, seeds=seeds), "Four runs.", ROOT)
    told = entities_of(published)["#run"]["object"]
    told = told if isinstance(told, list) else [told]
    assert [one["@id"] for one in told] == [id for name, id, _, _ in crate.INPUTS if name in used]


@pytest.mark.filterwarnings("ignore")
def test_the_validator_would_notice(published, monkeypatch):
    """Without the run of the workflow it is not a Workflow Run Crate."""
    path = published / crate.NAME
    content = json.loads(path.read_text())
    content["@graph"] = [entity for entity in content["@graph"] if entity["@id"] != "#run"]
    path.write_text(json.dumps(content))
    assert any("instrument" in message for message in issues(published, "REQUIRED", monkeypatch)["REQUIRED"])


def test_every_file_is_described_and_results_are_told_from_the_workflow(published):
    entities = entities_of(published)
    files = {path.relative_to(published).as_posix() for path in published.rglob("*") if path.is_file()}
    described = {id for id, entity in entities.items() if "File" in entity["@type"]}
    assert described == files - {crate.NAME}
    assert entities["claims.json"]["contentSize"] == "2"
    results = {part["@id"] for part in entities["#run"]["result"]}
    assert {"claims.json", "summary/sine.nc"} <= results
    assert not any(id.startswith(crate.SOURCE) for id in results)
    assert entities["./"]["mainEntity"]["@id"] == crate.WORKFLOW
    assert (published / crate.WORKFLOW).read_bytes() == (ROOT / "Snakefile").read_bytes()


def test_no_clock_time_is_in_it(published, monkeypatch):
    """The dates are those of the commit, or of the release where there is no history."""
    before = (published / crate.NAME).read_bytes()
    files = sorted(path for path in published.rglob("*") if path.is_file() and path.name != crate.NAME)
    crate.write(published, files, MADE, "Two curves, four runs.", ROOT)
    assert (published / crate.NAME).read_bytes() == before
    monkeypatch.setattr(provenance, "git", lambda *arguments: "2026-01-02T03:04:05Z")
    assert crate.released(ROOT) == "2026-01-02T03:04:05+00:00"
    monkeypatch.setattr(provenance, "git", lambda *arguments: "")
    assert f"\ndate-released: {crate.released(ROOT)}\n" in (ROOT / "CITATION.cff").read_text()


def test_without_a_checkout_there_is_no_crate(tmp_path):
    (tmp_path / "installed").mkdir()
    assert crate.copy_workflow(tmp_path / "out", tmp_path / "installed") == []
    assert not (tmp_path / "out").exists()


def test_without_the_package_publish_does_not_begin(monkeypatch):
    monkeypatch.setattr(crate.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UserError) as caught:
        crate.require_package()
    assert (caught.value.code, caught.value.key) == ("missing-package", "rocrate")
