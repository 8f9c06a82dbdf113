"""Digests of the files that a check depends on, as they lie in a workspace.

All files count, also those that git ignores: a worker could let it ignore what it adds. Folders of
installed packages and caches are left out, and links are not followed.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from everloop.workers import is_check_file

INSTALLED = (".git", "node_modules", ".venv", "venv", ".tox", ".nox")
CACHES = ("__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis")
LEFT_OUT = frozenset((*INSTALLED, *CACHES))


def digest_check_files(
    root: Path, patterns: Sequence[str], files_max: int
) -> dict[str, str] | None:
    """The files below a folder that match, with their digests; none if it has too many files."""
    found: dict[str, str] = {}
    for seen, path in enumerate(_files(root)):
        if seen >= files_max:
            return None
        name = path.relative_to(root).as_posix()
        if is_check_file(name, patterns):
            found[name.encode(errors="surrogateescape").decode(errors="replace")] = _digest(path)
    return found


def write_digests(path: Path, found: dict[str, str] | None) -> None:
    """Keep the digests in a file, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_bytes(msgspec.json.encode(found))
    part.replace(path)


def read_digests(path: Path) -> dict[str, str] | None:
    """The digests that were kept; none if there are none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, str] | None)
    except (OSError, msgspec.MsgspecError):
        return None


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
        folders[:] = sorted(set(folders) - LEFT_OUT - set(links))
        for name in (*links, *sorted(names)):
            yield Path(folder, name)


def _digest(path: Path) -> str:
    """The digest of a file's bytes, or of where a link points to."""
    try:
        if path.is_symlink():
            return f"link:{hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest()}"
        if not path.is_file():
            return "no file"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        return f"unreadable:{problem.errno}"
