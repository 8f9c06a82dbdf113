"""THIRD_PARTY_LICENSES names every package that ships, and none whose licence forbids it."""

import re
import tomllib

import pytest
from docs.licenses import FORBIDDEN, ROOT, TARGET, listed, npm_packages, python_packages

PAGE = TARGET.read_text()


def test_the_packages_of_the_web_pages_are_those_of_the_lock_file() -> None:
    wanted = sorted((each.name, each.version) for each in npm_packages(texts=False))
    found = sorted((name, version) for kind, name, version, _ in listed(PAGE) if kind == "npm")
    assert found == wanted, "run `python -m docs.licenses`"


def test_the_packages_of_python_are_those_that_are_installed() -> None:
    wanted = {each.name for each in python_packages()}
    found = {name for kind, name, _, _ in listed(PAGE) if kind == "Python"}
    assert wanted <= found, "run `python -m docs.licenses`"


def test_no_licence_forbids_to_ship_it() -> None:
    bad = [entry for entry in listed(PAGE) if FORBIDDEN.search(entry[3])]
    assert bad == []


@pytest.mark.parametrize(
    ("said", "bad"),
    [
        ("GPL-3.0-only", True),
        ("AGPL-3.0", True),
        ("SSPL-1.0", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("GPLv2+", True),
        ("LGPL-3.0-only", False),
        ("EPL-2.0", False),
        ("MIT", False),
    ],
)
def test_which_licences_are_refused(said: str, bad: bool) -> None:
    assert bool(FORBIDDEN.search(said)) == bad


def test_every_package_of_the_web_pages_comes_with_a_text() -> None:
    parts = re.split(r"(?m)^(?===)", PAGE)
    assert len(parts) > 50
    for name in ("elkjs", "marked", "katex", "@fontsource-variable/inter", "mermaid"):
        assert f"== npm: {name} " in PAGE


def test_the_wheel_contains_the_licence_texts() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert TARGET.name in project["license-files"]
