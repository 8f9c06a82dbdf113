"""House rules, as ordinary tests: what no tool checks for us and every file must keep."""

import ast
import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from everloop.app import DECIDERS
from everloop.lazy_exports import exported_names

ROOT = Path(__file__).parents[1]
NOT_OURS = {"node_modules", "build", "dist", "htmlcov", "__pycache__"}
NAMELESS = {"utils", "helpers", "common", "misc", "base", "core", "manager"}
LINES_MAX = 600
FOLDER_MODULES_MAX = 15
DOORS = "The doors import public surfaces only"
PURE = "Deciding and folding are pure"
HIDDEN_IMPORT = re.compile(r"""import_module\(\s*["']everloop""")
# Written so that this file does not contain what it looks for.
REGISTRY = re.compile(
    r"py(?:pi)\.(?:org|io)|python(?:hosted)|registry\.(?:npmjs|yarnpkg)|npm(?:mirror)"
)
PINNED = re.compile(r"(?P<name>[a-z0-9][a-z0-9.-]*)==[\w.!+]+(?: ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?P<more> \\)?")


def _ours(folder: Path) -> Iterator[Path]:
    """Every file below, except what tools put there: build results, folders with a leading dot."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and path.name not in NOT_OURS and not path.name.startswith("."):
            yield from _ours(path)
        elif path.is_file():
            yield path


def _names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


FILES = [*_ours(ROOT), *_ours(ROOT / ".ci")]
MODULES = [path for path in FILES if path.suffix == ".py"]
LOCKS = sorted((ROOT / "requirements").glob("*.lock.txt"))
WEB_LOCK = ROOT / "web" / "package-lock.json"


def _pinned(lock: Path) -> set[str]:
    return {m["name"] for line in lock.read_text().splitlines() if (m := PINNED.fullmatch(line))}


def _wanted(project: dict[str, list[str]]) -> set[str]:
    needs = [need for group in project.values() for need in group]
    return {re.split(r"[^A-Za-z0-9._-]", need)[0].lower() for need in needs}


def test_no_file_names_a_package_registry() -> None:
    texts = ((path, path.read_bytes().decode(errors="replace")) for path in FILES)
    assert _names([path for path, text in texts if REGISTRY.search(text)]) == []


@pytest.mark.parametrize("lock", [*LOCKS, WEB_LOCK], ids=lambda lock: lock.name)
def test_no_lock_carries_an_address(lock: Path) -> None:
    assert "://" not in lock.read_text()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_lock_holds_versions_and_hashes_and_nothing_else(lock: Path) -> None:
    expecting_hash = False
    for line in lock.read_text().splitlines():
        if line.lstrip().startswith("#"):
            assert "://" not in line
        elif expecting_hash:
            found = HASH.fullmatch(line)
            assert found, line
            expecting_hash = found["more"] is not None
        else:
            assert PINNED.fullmatch(line), line
            expecting_hash = True
    assert not expecting_hash


def test_what_the_project_asks_for_is_locked() -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = asked["dependency-groups"]
    tools = {name: [n for n in needs if isinstance(n, str)] for name, needs in groups.items()}
    core = {"core": asked["project"]["dependencies"], "build": asked["build-system"]["requires"]}
    extras = dict(asked["project"]["optional-dependencies"])
    del extras["hub"]  # its models are downloaded, so no test can run it, and nothing here needs it
    del extras["local"]  # 130 MB that only one test could use; it skips where they are missing
    del extras["app"]  # names others of ours
    wanted = _wanted(extras) | _wanted(tools) | _wanted(core)
    assert wanted - _pinned(ROOT / "requirements" / "dev.lock.txt") == set()
    assert _pinned(ROOT / "requirements" / "uv.lock.txt") == {"uv"}


def test_every_module_says_what_it_is() -> None:
    silent = [path for path in MODULES if not ast.get_docstring(ast.parse(path.read_bytes()))]
    assert _names(silent) == []


def test_no_source_file_is_too_long_to_read() -> None:
    sources = [path for path in MODULES if path.is_relative_to(ROOT / "src")]
    long = [path for path in sources if len(path.read_text().splitlines()) > LINES_MAX]
    assert _names(long) == []


def test_no_folder_holds_too_many_modules_to_survey() -> None:
    suffixes = {".py", ".ts", ".svelte"}
    found = [path for path in FILES if path.suffix in suffixes and path.stem != "__init__"]
    ours = [path for path in found if path.parts[len(ROOT.parts)] in ("src", "tests", "web")]
    counts = Counter(path.parent for path in ours)
    assert _names([folder for folder, count in counts.items() if count > FOLDER_MODULES_MAX]) == []


def _contracts() -> list[dict[str, Any]]:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts: list[dict[str, Any]] = asked["tool"]["importlinter"]["contracts"]
    return contracts


def _guarded() -> list[str]:
    """The patterns of modules that the import contract keeps pure."""
    (pure,) = [one for one in _contracts() if one["name"] == PURE]
    return [_pattern(each) for each in pure["source_modules"]]


def _pattern(wildcard: str) -> str:
    """A module pattern of import-linter as a regular expression."""
    parts = {"**": r"\w+(\.\w+)*", "*": r"\w+"}
    return r"\.".join(parts.get(part, part) for part in wildcard.split("."))


def test_every_decision_lies_in_a_module_that_the_purity_contract_guards() -> None:
    guarded = _guarded()
    modules = {each.decide.__module__ for each in DECIDERS}
    modules |= {each.fold.evolve.__module__ for each in DECIDERS}
    loose = [one for one in modules if not any(re.fullmatch(each, one) for each in guarded)]
    assert sorted(loose) == []


SURFACES = [
    path
    for path in MODULES
    if path.name == "__init__.py" and "lazy_exports(__name__" in path.read_text()
]


@pytest.mark.parametrize("path", SURFACES, ids=lambda path: path.parent.name)
def test_a_package_exports_what_it_shows_to_type_checkers(path: Path) -> None:
    package = importlib.import_module(".".join(path.parent.relative_to(ROOT / "src").parts))
    assert sorted(exported_names(path)) == sorted(package.__all__)
    assert all(hasattr(package, each) for each in package.__all__)


def test_the_doors_contract_names_every_package_below_the_doors() -> None:
    (rule,) = [one for one in _contracts() if one["name"] == DOORS]
    packages = {path.parent.name for path in (ROOT / "src/everloop").glob("*/__init__.py")}
    named = {one.split(".")[1] for one in rule["forbidden_modules"]}
    assert packages - {"interfaces", "lazy_exports", "testing"} == named


def test_lazy_imports_of_our_own_modules_are_visible_to_the_linter() -> None:
    """An `import_module` with a literal name would escape the import contracts."""
    sources = [path for path in MODULES if path.is_relative_to(ROOT / "src")]
    assert _names([path for path in sources if HIDDEN_IMPORT.search(path.read_text())]) == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    parts = {path: {path.stem, *path.relative_to(ROOT).parts[:-1]} for path in MODULES}
    assert _names([path for path, names in parts.items() if names & NAMELESS]) == []


def test_every_folder_of_the_package_is_one() -> None:
    """Else the import contracts pass over it, and keep what they never saw."""
    folders = {path.parent for path in MODULES if path.is_relative_to(ROOT / "src")}
    assert _names(sorted(each for each in folders if not (each / "__init__.py").exists())) == []
