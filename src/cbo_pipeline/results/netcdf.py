"""Reading and writing NetCDF: the only module that does. (``kinds`` looks at attributes alone.)

A file of results is NetCDF-4, followed by its seal (``files``). Programs that read NetCDF take no notice of that
line, as HDF5 knows where its data end. Here it is checked before the HDF5 library sees the file: damaged bytes may
crash that library, or go through as other numbers.

The library does not survive a disk that fills up under it either. So it writes to memory (a memory-backed folder, or
the temporary directory if that has room), and Python copies the result to its place, whole or not at all. Memory
means files in a folder here: what the library writes to its own memory buffers depends on the time of day.
"""

import errno
import os
import resource
import tempfile
from pathlib import Path

import netCDF4
import xarray as xr

from cbo_pipeline.errors import FileRefused
from cbo_pipeline.files import SEAL_LENGTH, NotSealed, SealBroken, check_seal, seal, whole_file
from cbo_pipeline.results.contract import CONTENT, CONTRACT

ENGINE = "netcdf4"
HDF5 = b"\x89HDF\r\n\x1a\n"
AGAIN = "delete it and make it again"
SPARE = 1 << 24  # bytes of room asked for beyond the numbers themselves
MEMORY = Path("/dev/shm")  # a folder in memory, where there is one


def write(data: xr.Dataset, path: str | Path) -> None:
    """Write a dataset whole or not at all; equal datasets give equal bytes."""
    try:
        content = _encode(data)
    except RuntimeError as error:  # the library knows that it could not write, not why
        reason = (errno.EFBIG, os.strerror(errno.EFBIG)) if _file_size_is_limited() else (errno.EIO, str(error))
        raise OSError(*reason, str(path)) from None
    with whole_file(path) as partial:
        partial.write_bytes(content)
        seal(partial)


def read(path: str | Path, kind: str | None = None) -> xr.Dataset:
    """Read a file of results into memory; refuse, by name, what is damaged, foreign or of another contract."""
    path = Path(path)
    content = _unsealed(path)
    try:
        data = xr.load_dataset(xr.backends.NetCDF4DataStore(netCDF4.Dataset(path.name, memory=content)))
    except ImportError:
        raise
    except Exception as error:  # the layers below raise whatever they like
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise _refused(path, f"not a readable NetCDF file ({reason}); {AGAIN}", "damaged") from None
    contract, found = data.attrs.get("contract"), str(data.attrs.get("kind"))
    if contract is None or found not in CONTENT:
        raise _refused(path, "not a file of this pipeline; name a run or a summary", "foreign", "kind")
    if str(contract) != str(CONTRACT):
        words = f"written under contract {contract}, this is contract {CONTRACT}; {AGAIN}"
        raise _refused(path, words, "other-contract", "contract")
    if kind is not None and found != kind:
        words = f"a file of kind {found!r}, not {kind!r}; name a {kind}"
        raise _refused(path, words, "other-kind", "kind")
    missing = [name for name in CONTENT[found] if name not in {*data.variables, *data.attrs}]
    if missing:
        raise _refused(path, f"holds no {' and no '.join(missing)}; {AGAIN}", "missing", missing[0])
    for variable in data.variables.values():
        variable.encoding = {}
    return data


def _unsealed(path: Path) -> bytes:
    """The bytes of a file of results without its seal, which must fit them."""
    if not path.is_file():
        there = "not a file" if path.exists() else "no such file"
        raise _refused(path, f"{there}; is the name right?", "no-such-file")
    with path.open("rb") as file:
        first = file.read(len(HDF5))
    if first != HDF5:
        raise _refused(path, f"{_what_else(first)}; {AGAIN}", "not-netcdf")
    try:
        check_seal(path)
    except NotSealed:
        reason = "it ends without a checksum: written under contract 1, by another program, or cut short"
        raise _refused(path, f"not a file of contract {CONTRACT} ({reason}); {AGAIN}", "not-sealed") from None
    except SealBroken:
        raise _refused(path, f"damaged (its checksum does not fit); {AGAIN}", "damaged") from None
    return path.read_bytes()[:-SEAL_LENGTH]


def _refused(path: Path, words: str, code: str, key: str = "") -> FileRefused:
    return FileRefused(f"{path}: {words}", code=code, key=key, file=str(path))


def _what_else(content: bytes) -> str:
    if not content:
        return "not a NetCDF file (it is empty)"
    if content.startswith(b"CDF"):
        return "a NetCDF-3 file; results are NetCDF-4"
    return "not a readable NetCDF file (it does not begin like NetCDF-4)"


def _encode(data: xr.Dataset) -> bytes:
    """The dataset as the bytes of a NetCDF-4 file."""
    data = data.copy()
    data.attrs = {**data.attrs, "contract": CONTRACT}
    encoding: dict[str, dict] = {}
    for name, variable in data.variables.items():
        variable.encoding = {}
        if variable.dtype.kind in "fiu":
            encoding[name] = {"_FillValue": None}
            if variable.ndim and variable.size > 1:
                encoding[name] |= {"zlib": True, "complevel": 4, "shuffle": True, "fletcher32": True}
    with tempfile.TemporaryDirectory(prefix="cbo_pipeline.", dir=_roomy_folder(data.nbytes)) as folder:
        scratch = Path(folder, "scratch.nc")
        data.to_netcdf(scratch, engine=ENGINE, format="NETCDF4", encoding=encoding)
        return scratch.read_bytes()


def _roomy_folder(size: int) -> Path:
    """A folder that can take a file of about that many bytes: one in memory, or the temporary directory."""
    for folder in (MEMORY, temporary := Path(tempfile.gettempdir())):
        if os.access(folder, os.W_OK | os.X_OK) and _free(folder) > 2 * size + SPARE:
            return folder
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(temporary))


def _free(folder: Path) -> int:
    state = os.statvfs(folder)
    return state.f_bavail * state.f_frsize


def _file_size_is_limited() -> bool:
    """Whether the process may write files of a certain size at most (``ulimit -f``)."""
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY
