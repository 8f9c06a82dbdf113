"""Which test claims which promise: read from the tests, written into `promises.md`.

The words of the page are written by hand; under each promise, the list of tests is ours.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
TESTS = FOLDER.parent / "tests"
HEADING = re.compile(r"^### (P-[A-Z]+-\d+) ")
CLAIM = "- `tests/"


def promised() -> list[str]:
    """The ids on the page, in their order."""
    return [found[1] for line in _lines() if (found := HEADING.match(line))]


def claims() -> dict[str, list[str]]:
    """For each claimed id, the tests that claim it, as `tests/…::test_…`."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for test, promise in _marks(ast.parse(path.read_bytes())):
            name = f"{path.relative_to(TESTS.parent).as_posix()}::{test}"
            found.setdefault(promise, []).append(name)
    return found


def page() -> str:
    """The page with its lists of tests as they are now."""
    claimed = claims()
    written: list[str] = []
    pending: list[str] = []  # the claims of the section we are in, due before the next heading
    for line in [*(line for line in _lines() if not line.startswith(CLAIM)), "#"]:
        if line.startswith("#"):
            written += [*(f"- `{name}`" for name in pending), ""] if pending else []
            pending = []
        if found := HEADING.match(line):
            pending = claimed.get(found[1], [])
        if line or (written and written[-1]):
            written.append(line)
    return "\n".join(written[:-1]).rstrip() + "\n"


def _lines() -> list[str]:
    return (FOLDER / "promises.md").read_text().splitlines()


def _marks(module: ast.Module) -> Iterator[tuple[str, str]]:
    for node in module.body:
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.promise":
                    for argument in mark.args:
                        yield node.name, str(ast.literal_eval(argument))
