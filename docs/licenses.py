"""Writes THIRD_PARTY_LICENSES: the packages that Everloop ships or installs, with their licences.

Of npm, all that the web pages are built from, without tools of development; of Python, all that the
package and its extras install. `python -m docs.licenses` writes it; a test says if it is stale, or
if a licence forbids what we do.
"""

import json
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "THIRD_PARTY_LICENSES"
FORBIDDEN = re.compile(r"(?<![A-Za-z])(?:A?GPL|SSPL|GNU (?:Affero )?General Public)", re.IGNORECASE)
_TEXTS = re.compile(r"(?:licen[cs]e|copying|notice|ofl|authors)[^/]*$", re.IGNORECASE)
_NOT_TEXTS = re.compile(r"\.(?:py|pyc|js|ts|json)$")
_HEADING = re.compile(r"^== (\w+): (\S+) (\S+) \((.*)\)$", re.MULTILINE)


class Package(NamedTuple):
    """A package of others."""

    kind: str  # npm or Python
    name: str
    version: str
    license: str
    text: str = ""

    @property
    def heading(self) -> str:
        """Its heading in the file."""
        return f"== {self.kind}: {self.name} {self.version} ({self.license})"


def npm_packages(*, texts: bool = True) -> Iterator[Package]:
    """What the pages are built from, as the lock file says."""
    web = ROOT / "web"
    locked: dict[str, dict[str, Any]] = json.loads((web / "package-lock.json").read_text())[
        "packages"
    ]
    for path, about in sorted(locked.items()):
        if not path or about.get("dev") or about.get("optional"):
            continue
        name = path.rpartition("node_modules/")[2]
        yield Package(
            "npm",
            name,
            about["version"],
            str(about.get("license") or _npm_license(web / path)),
            _npm_text(web / path) if texts else "",
        )


def python_packages() -> Iterator[Package]:
    """What the package installs with all its extras, as far as it is installed here."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    for name in sorted(_closure(wanted) - {"everloop"}):
        dist = metadata.distribution(name)
        yield Package("Python", name, dist.version, _python_license(dist), _python_text(dist))


def render() -> str:
    """The whole file."""
    found = [*npm_packages(), *python_packages()]
    head = (
        "Everloop is MIT licensed; see LICENSE. It is built from or installs these packages of\n"
        "others. The web pages in the wheel contain those of npm. Written by\n"
        "`python -m docs.licenses`.\n"
    )
    by_text: dict[str, list[str]] = {}
    for each in found:
        by_text.setdefault(each.text, []).append(each.heading)
    entries = ["\n".join(names) + f"\n\n{text}\n" for text, names in by_text.items()]
    return "\n".join([head, *entries])


def listed(page: str) -> list[tuple[str, str, str, str]]:
    """The kind, name, version and licence of each package that the file names."""
    return _HEADING.findall(page)


def main() -> int:
    """Write the file."""
    TARGET.write_text(render())
    return 0


# -- npm -------------------------------------------------------------------------------------------


def _npm_license(folder: Path) -> str:
    about = folder / "package.json"
    said: Any = json.loads(about.read_text()).get("license", "") if about.is_file() else ""
    return str(said.get("type", "") if isinstance(said, dict) else said) or "unknown"


def _npm_text(folder: Path) -> str:
    files = [path for path in sorted(folder.glob("*")) if path.is_file()]
    return _join(path.read_text(errors="replace") for path in files if _is_text(path.name))


# -- Python ----------------------------------------------------------------------------------------


def _closure(wanted: list[str]) -> set[str]:
    """The installed packages that requirements lead to. What is not installed is left out."""
    found: set[str] = set()
    todo = [(Requirement(each), "") for each in wanted]
    while todo:
        asked, extra = todo.pop()
        name = canonicalize_name(asked.name)
        if asked.marker and not asked.marker.evaluate({"extra": extra}):
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        if name in found and not asked.extras:
            continue
        found.add(name)
        for inner in ("", *asked.extras):
            todo += [(Requirement(each), inner) for each in requires]
    return found


def _python_license(dist: metadata.Distribution) -> str:
    about = dist.metadata
    said = _field(dist, "License-Expression")
    if not said:
        classes = [each for each in about.get_all("Classifier") or [] if "License ::" in each]
        said = ", ".join(each.rpartition(" :: ")[2] for each in classes)
    short = _field(dist, "License").strip().partition("\n")[0]
    return said or short[:60] or "unknown"


def _field(dist: metadata.Distribution, name: str) -> str:
    return str(dist.metadata[name]) if name in dist.metadata else ""


def _python_text(dist: metadata.Distribution) -> str:
    files = sorted(
        (each for each in dist.files or () if ".dist-info" in str(each) and _is_text(each.name)),
        key=str,
    )
    return _join(Path(str(each.locate())).read_text(errors="replace") for each in files)


def _is_text(name: str) -> bool:
    return bool(_TEXTS.match(name)) and not _NOT_TEXTS.search(name)


def _join(texts: Iterator[str]) -> str:
    unique = dict.fromkeys("\n".join(line.rstrip() for line in text.splitlines()) for text in texts)
    return "\n\n".join(text.strip("\n") for text in unique) or "(no text comes with the package)"


if __name__ == "__main__":
    sys.exit(main())
