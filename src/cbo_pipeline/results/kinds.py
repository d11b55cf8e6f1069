"""What a file is, if this pipeline made it: found out without xarray, and without trusting its name.

NetCDF and JSON files say their kind and contract themselves. Figures and pages bear a mark (``files.mark``).
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from cbo_pipeline.files import MARK, NotSealed, SealBroken, check_seal
from cbo_pipeline.results.contract import CONTRACT

HDF5 = b"\x89HDF\r\n\x1a\n"
LARGEST = 1 << 26  # bytes: no figure, page or JSON file of this pipeline is larger
VERDICT = {"id", "claim", "verdict"}
SPEED = {"crossing", "epochs_to_reach", "costs"}
MNIST = re.compile(rb"(?:[0-9a-f]{32}  MNIST/raw/[\w-]+\n)+")


@dataclass(frozen=True)
class Kind:
    """The kind of a file and the contract that it was written under; ``settings`` are those of a run."""

    name: str
    contract: int = CONTRACT
    settings: str = ""


def kind_of(path: str | Path) -> Kind | None:
    """The kind of a regular file, or nothing if this pipeline did not make it or it is damaged."""
    path = Path(path)
    with path.open("rb") as file:
        first = file.read(len(HDF5))
    if first == HDF5:
        return _of_netcdf(path)
    if path.stat().st_size > LARGEST:
        return None
    content = path.read_bytes()
    if MNIST.fullmatch(content):
        return Kind("list of MNIST's files")
    found = re.search(MARK.encode() + rb" ([a-z ]+)", content)
    if found and first.lstrip()[:1] not in (b"{", b"["):
        return Kind(found[1].decode().strip())
    return _of_json(content)


def _of_netcdf(path: Path) -> Kind | None:
    """Damaged bytes may crash the HDF5 library: it sees only files whose seal fits."""
    import netCDF4

    try:
        check_seal(path)
        with netCDF4.Dataset(path) as data:
            told = {name: data.getncattr(name) for name in ("kind", "contract", "settings") if name in data.ncattrs()}
    except (NotSealed, SealBroken, OSError, RuntimeError, UnicodeDecodeError):
        return None
    if not {"kind", "contract"} <= set(told):
        return None
    return Kind(str(told["kind"]), int(told["contract"]), str(told.get("settings", "")))


def _of_json(content: bytes) -> Kind | None:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, list) and value and all(isinstance(row, dict) and set(row) >= VERDICT for row in value):
        return Kind("claims")
    if isinstance(value, dict) and isinstance(value.get("kind"), str) and isinstance(value.get("contract"), int):
        return Kind(value["kind"], value["contract"])
    if isinstance(value, dict) and set(value) >= SPEED:  # as it was before it said its kind
        return Kind("speed")
    return None
