"""The published results as a Workflow Run RO-Crate: what was run, on which input, and what came of it, for machines.

The folder itself is the crate: beside the results it holds the workflow, the config and the versions that were
tested. Profiles: Workflow Run Crate 0.5, Process Run Crate 0.5, Workflow RO-Crate 1.0, all on RO-Crate 1.1. There are
no clock times: the dates are those of the commit, so that the same results give the same bytes.
"""

import hashlib
import importlib.util
import json
import mimetypes
import shutil
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

import yaml

import cbo_pipeline
from cbo_pipeline.errors import UserError
from cbo_pipeline.files import whole_file
from cbo_pipeline.pages import provenance
from cbo_pipeline.results.contract import COMMON, PAPER

NAME = "ro-crate-metadata.json"
SOURCE = "source"  # the part of the folder that holds the workflow
WORKFLOW = f"{SOURCE}/Snakefile"
# What of the checkout goes into the crate; the package is named by its commits.
COPIED = ("Snakefile", "config.yaml", "requirements.lock", "workflow/*.yaml", "workflow/rules/*.smk")
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
BIOSCHEMAS = "https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"
ARXIV = "https://arxiv.org/abs/2511.21466"
# What the workflow takes and gives, the part of the crate that shows it, and its type.
CONFIG, READINGS = f"{SOURCE}/config.yaml", f"{SOURCE}/workflow/readings.yaml"
INPUTS = (
    ("config", CONFIG, "File", "experiments, methods, grids and seeds"),
    ("many_seeds", f"{SOURCE}/workflow/many_seeds.yaml", "File", "more seeds, laid over the config"),
    ("readings", READINGS, "File", "other readings of the paper"),
    ("horizon", f"{SOURCE}/workflow/horizon.yaml", "File", "long runs on MNIST, laid over the config"),
)
OUTPUTS = (
    ("claims", "claims.json", "File", "the verdict on every claim of the paper, with its number and interval"),
    ("figures", "figures/", "Dataset", "the figures of the paper, and ours"),
    ("summaries", "summary/", "Dataset", "the risk of every run, epoch by epoch, one file for each experiment"),
)
TYPES = {".nc": "application/x-netcdf", ".md": "text/markdown", ".yaml": "application/yaml", ".lock": "text/plain"}
NAMES = {
    "README.md": "What was made, where, and what it cost",
    "claims.json": "Verdicts",
    "claims.md": "Verdicts, as a page",
    "speed.json": "Costs and speeds",
    "readings.json": "Verdicts under other readings of the paper",
    "readings.md": "Verdicts under other readings of the paper, as a page",
    "index.html": "The paper with the answers filled in",
    provenance.NAME: "Commit, machine, versions, cost",
    CONFIG: "The settings of the paper",
    f"{SOURCE}/workflow/many_seeds.yaml": "The seeds of the published verdicts",
    READINGS: "Other readings of the paper",
    f"{SOURCE}/workflow/horizon.yaml": "Long runs on MNIST",
    f"{SOURCE}/requirements.lock": "The versions that were tested",
    WORKFLOW: "cbo_pipeline",
}


def require_package() -> None:
    """Refuse to begin without the package that describes crates."""
    if importlib.util.find_spec("rocrate") is None:
        words = "publish: the package rocrate is missing; install cbo-pipeline[workflow]"
        raise UserError(words, code="missing-package", key="rocrate")


def copy_workflow(output: Path, root: Path) -> list[Path]:
    """Copy what the crate needs of a checkout into the folder; nothing where there is no checkout."""
    found = [path for pattern in COPIED for path in sorted(root.glob(pattern))]
    if not (root / "Snakefile").is_file():
        return []
    for path in found:
        place = output / SOURCE / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, place)
    return found


def write(output: Path, files: Iterable[Path], made: provenance.Made, said: str, root: Path) -> None:
    """Describe the files of a published folder in ro-crate-metadata.json; ``said`` tells what was run."""
    text = json.dumps(metadata(output, files, made, said, root), indent=1, ensure_ascii=False)
    with whole_file(output / NAME) as partial:
        partial.write_text(f"{text}\n", encoding="utf-8")


def metadata(output: Path, files: Iterable[Path], made: provenance.Made, said: str, root: Path) -> dict:
    """The content of ro-crate-metadata.json."""
    from rocrate.model.contextentity import ContextEntity as entity
    from rocrate.rocrate import ROCrate

    crate, when = ROCrate(version="1.1"), released(root)
    crate.metadata.extra_terms["sha256"] = "http://schema.org/sha256"  # younger than RO-Crate 1.1
    developers = crate.add(entity(crate, "#developers", {"@type": "Organization", "name": COMMON["creator_name"]}))
    about = {"@type": "CreativeWork", "name": "MIT License", "description": "See the file LICENSE of the project."}
    license = crate.add(entity(crate, "https://spdx.org/licenses/MIT", about))
    paper = crate.add(entity(crate, ARXIV, {"@type": "ScholarlyArticle", "name": PAPER}))
    parts = _parts(crate, output, files)
    _describe_workflow(crate, parts[WORKFLOW], made, developers, license, when)
    slots: dict[str, list] = {"input": [], "output": []}
    used = [one for one in INPUTS if one[1] in parts and _was_used(one[1], output, made, parts)]
    for name, id, kind, words in (*used, *OUTPUTS):
        if id in parts:
            slot = "input" if id.startswith(f"{SOURCE}/") else "output"
            parameter = {"@type": "FormalParameter", "name": name, "additionalType": kind, "description": words}
            parameter = crate.add(entity(crate, f"#{name}", {**parameter, "workExample": {"@id": id}}))
            slots[slot].append(parameter)
            parts[id]["exampleOfWork"] = parameter
    parts[WORKFLOW]["input"], parts[WORKFLOW]["output"] = (_one_or_many(found) for found in slots.values())
    described = {
        "@type": "CreateAction",
        "name": "The run of the workflow that made these results",
        "description": f"{said} The time is that of the commit: clock times are not recorded.",
        "endTime": when,
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    action = crate.add(entity(crate, "#run", described))
    action["instrument"], action["agent"] = parts[WORKFLOW], developers
    action["object"] = _one_or_many([parts[id] for _, id, _, _ in used])
    action["result"] = [part for id, part in parts.items() if not id.startswith(SOURCE) and id != "README.md"]
    dataset = crate.root_dataset
    dataset["name"] = "Results of cbo_pipeline"
    dataset["description"] = f"A reproduction of: {PAPER}. {said}"
    dataset["datePublished"], dataset["license"] = when, license
    dataset["author"] = dataset["publisher"] = developers
    dataset["citation"], dataset["mentions"] = paper, action
    parts["README.md"]["about"] = dataset
    dataset["keywords"] = COMMON["keywords"]
    for id, name in PROFILES.items():
        about = {"@type": "CreativeWork", "name": name, "version": id.rsplit("/", 1)[1]}
        dataset.append_to("conformsTo", crate.add(entity(crate, id, about)))
    return crate.metadata.generate()


def released(root: Path) -> str:
    """The time of the commit of a checkout; without a history, the date of release in CITATION.cff."""
    found = provenance.git(root, "show", "-s", "--format=%cI", "HEAD")
    if found:
        return datetime.fromisoformat(found).isoformat(timespec="seconds")
    return str(yaml.safe_load((root / "CITATION.cff").read_text(encoding="utf-8"))["date-released"])


def _parts(crate, output: Path, files: Iterable[Path]) -> dict:
    """Every file of the folder as an entity by its place, and the folders of figures and summaries."""
    found = {}
    names = sorted(path.relative_to(output).as_posix() for path in files)
    folders = [id for _, id, kind, _ in OUTPUTS if kind == "Dataset" and any(n.startswith(id) for n in names)]
    for id in folders:
        found[id] = crate.add_dataset(dest_path=id, properties={"name": NAMES.get(id, id.rstrip("/").capitalize())})
    for name in names:
        content = (output / name).read_bytes()
        told = {
            "name": NAMES.get(name, name),
            "contentSize": str(len(content)),
            "sha256": hashlib.sha256(content).hexdigest(),
            "encodingFormat": _type(name),
        }
        if name == WORKFLOW:
            found[name] = crate.add_workflow(dest_path=name, main=True, lang="snakemake", properties=told)
        else:
            found[name] = crate.add_file(dest_path=name, properties=told)
    for id in folders:
        found[id]["hasPart"] = _one_or_many([found[name] for name in names if name.startswith(id)])
    return found


def _was_used(id: str, output: Path, made: provenance.Made, parts: Iterable[str]) -> bool:
    """Whether results show that a file was an input: an overlay by the seeds of an experiment that it sets."""
    if id == CONFIG:
        return True
    if id == READINGS:
        return any(part.startswith("readings/") for part in parts)
    experiments = yaml.safe_load((output / id).read_text(encoding="utf-8"))["experiments"]
    return any(made.seeds.get(name, 0) >= _most_seeds(told) for name, told in experiments.items())


def _most_seeds(told: dict) -> int:
    return max(one["seeds"] for one in (told, *told.get("methods", {}).values()) if "seeds" in one)


def _describe_workflow(crate, workflow, made: provenance.Made, developers, license, when: str) -> None:
    workflow["description"] = (
        "The paper as a Snakemake workflow, as it was when the results were published. The package that it calls is"
        " not in the crate. Results were made at the commits that the version names; each file of results carries the"
        " digest of the code that decided it, and adopted.json, where it is there, lists the digests of later code"
        " that gave the same numbers."
    )
    workflow["version"] = f"{cbo_pipeline.__version__}, commit {made.commit}"
    workflow["author"] = workflow["creator"] = developers
    workflow["license"], workflow["dateModified"] = license, when
    workflow["conformsTo"] = {"@id": BIOSCHEMAS}


def _one_or_many(entities: list):
    """A list of one is written as that one."""
    return entities[0] if len(entities) == 1 else entities


def _type(name: str) -> str:
    suffix = Path(name).suffix
    return TYPES.get(suffix) or mimetypes.guess_type(name, strict=True)[0] or "text/plain"
