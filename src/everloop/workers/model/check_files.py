"""Files that a check depends on: which they are, and whether a worker changed them.

A check that a worker can edit proves little. So tests and what configures them are compared with
what they were before the worker began, and the verdict says which of them changed.
"""

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Literal

import msgspec

CHANGED_LISTED = 100  # paths that a verdict names; the rest is counted
SHOWN = 5
INTERPRETERS = ("sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl")
PROTECTED_PATHS = (
    "tests/**",
    "test/**",
    "**/tests/**",
    "**/__tests__/**",
    "test_*.py",
    "*_test.py",
    "*_test.go",
    "*.test.*",
    "*.spec.*",
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "pytest.ini",
    "tox.ini",
    "setup.cfg",
    "noxfile.py",
    "pyproject.toml",
    "package.json",
    "jest.config.*",
    "vitest.config.*",
    "playwright.config.*",
    "Makefile",
    "makefile",
    "GNUmakefile",
    "justfile",
    ".github/**",
)

CheckFilesStanding = Literal["unchanged", "changed", "unknown"]


class CheckFiles(msgspec.Struct, frozen=True):
    """How the files that a check depends on stood before it ran.

    `changed` names the first of those that the worker changed, added or removed.
    """

    standing: CheckFilesStanding = "unknown"
    changed: tuple[str, ...] = ()
    changed_count: int = 0


def is_check_file(path: str, patterns: Sequence[str]) -> bool:
    """Whether a path in the workspace matches a pattern.

    A pattern without a slash is a name in any folder; `**` is any number of folders.
    """
    parts = PurePosixPath(path).parts
    return any(
        _matches(parts, tuple(pattern.split("/")))
        if "/" in pattern
        else fnmatchcase(parts[-1], pattern)
        for pattern in patterns
    )


def script_of(check: Sequence[str]) -> tuple[str, ...]:
    """The script of a check command, if it runs one by path: `./check.sh`, `sh check.sh`."""
    first, *words = check
    if PurePosixPath(first).name in INTERPRETERS:
        words = [word for word in words[:1] if not word.startswith("-")]
    else:
        words = [first] if "/" in first else []
    return tuple(str(PurePosixPath(word)) for word in words if not word.startswith("/"))


def compare_check_files(
    before: Mapping[str, str] | None, after: Mapping[str, str] | None
) -> CheckFiles:
    """What changed between two lists of files with their digests; unknown if one is missing."""
    if before is None or after is None:
        return CheckFiles()
    changed = sorted(path for path in {**before, **after} if before.get(path) != after.get(path))
    standing: CheckFilesStanding = "changed" if changed else "unchanged"
    return CheckFiles(standing, tuple(changed[:CHANGED_LISTED]), len(changed))


def describe_check_files(files: CheckFiles) -> str:
    """A sentence about a verdict whose check files are not as they were; else empty."""
    if files.standing == "changed":
        named = ", ".join(_quoted(files.changed[:SHOWN]))
        more = files.changed_count - min(SHOWN, len(files.changed))
        rest = f" and {more} more" if more > 0 else ""
        return (
            f"Check files changed by the worker: {named}{rest}."
            " Look at them before you rely on this check; it does not count as evidence."
        )
    if files.standing == "unknown":
        return (
            "Whether the worker changed files that this check depends on is not known,"
            " so it does not count as evidence."
        )
    return ""


def _quoted(paths: Sequence[str]) -> Iterator[str]:
    for path in paths:
        yield f"`{path}`" if path.isprintable() and "`" not in path else repr(path)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    if not pattern:
        return not parts
    first, rest = pattern[0], pattern[1:]
    if first == "**":
        if not rest:
            return bool(parts)
        return any(_matches(parts[start:], rest) for start in range(len(parts)))
    return bool(parts) and fnmatchcase(parts[0], first) and _matches(parts[1:], rest)
