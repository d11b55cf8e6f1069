"""Keys that name files: relative paths start from the folder of the config that names them.

Such a key is marked ``x-file: true`` in the schema. Where a run takes the key with ``_digest`` behind it as well, the
digest of the file's content stands there: another content is another run.
"""

import os
from pathlib import Path
from typing import Any

from cbo_pipeline.config import messages, schema
from cbo_pipeline.errors import ConfigError
from cbo_pipeline.problems._table_digest import digest_of


def plugin_folders(content: dict, folder: Path) -> list[Path]:
    """The folders under the key ``plugins`` of one file."""
    if "plugins" not in content:
        return []
    named = content["plugins"]
    schema.check_top_key("plugins", named)
    return [folder / name for name in ([named] if isinstance(named, str) else named)]


def with_paths(content: dict, folder: Path) -> dict:
    """The content of one config with its relative paths made relative to the working directory."""
    experiments = content.get("experiments")
    for experiment in experiments.values() if isinstance(experiments, dict) else ():
        if not isinstance(experiment, dict):
            continue
        variants = experiment.get("methods")
        inner = list(variants.values()) if isinstance(variants, dict) else []
        for level in (experiment, *inner):
            if isinstance(level, dict):
                _place(level, folder)
                if isinstance(level.get("sweep"), dict):
                    _place(level["sweep"], folder)
    return content


def _place(settings: dict, folder: Path) -> None:
    """Make the paths among these settings, one or a list under a key, start from the working directory."""
    for key in file_keys(settings):
        named = settings[key]
        if isinstance(named, str):
            settings[key] = _from_here(folder / named)
        elif isinstance(named, list):
            settings[key] = [_from_here(folder / one) if isinstance(one, str) else one for one in named]


def file_keys(settings: dict) -> list[str]:
    """The keys among these that name files."""
    known = schema.file_keys()
    return [key for key in settings if isinstance(key, str) and key in known]


def with_digests(settings: dict[str, Any], taken: set[str], place: str) -> dict[str, Any]:
    """The settings of a run with the digests of the files that it reads."""
    found = dict(settings)
    for key in file_keys(settings):
        if f"{key}_digest" in settings:
            words = f"is filled in: it is the digest of the file that {key} names"
            raise messages.refuse(f"{place}.{key}_digest", words, "filled-in")
        if f"{key}_digest" in taken and isinstance(settings[key], str):
            found[f"{key}_digest"] = _digest_of(settings[key], f"{place}.{key}")
    return found


def _digest_of(path: str, place: str) -> str:
    try:
        return digest_of(path)
    except OSError as error:
        words = f"{path} cannot be read ({error.strerror or error})"
        raise ConfigError(f"{place}: {words}", code="unreadable", key=place, file=path) from None


def _from_here(path: Path) -> str:
    """Relative to the working directory for what lies below it, so that a folder can move; else absolute."""
    full = Path(os.path.normpath(path.absolute()))
    here = Path.cwd()
    return str(full.relative_to(here)) if full.is_relative_to(here) else str(full)
