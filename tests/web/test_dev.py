"""`make dev`: the engine and the pages by one command, and a change is seen without a restart."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Visit

pytestmark = [pytest.mark.xdist_group("pages"), pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
OLD = ("--old-file=setup", "--old-file=web/node_modules/.package-lock.json")  # made already
MADE = shutil.ignore_patterns("node_modules", "build", ".svelte-kit")
BEFORE, AFTER = "This is your thread.", "This is your thread, seen anew."


class Workshop:
    """A copy of the pages that may be changed, while `make dev` runs on it."""

    def __init__(self, folder: Path, told: subprocess.Popen[str]) -> None:
        self.folder = folder
        self._told = told

    def hear(self, wanted: str) -> str:
        """Wait until it says so, and give what matched."""
        assert self._told.stdout is not None
        heard: list[str] = []
        for line in self._told.stdout:
            heard.append(line)
            if found := re.search(wanted, line):
                return found.group()
        raise AssertionError("".join(heard))

    def change(self, path: str, before: str, after: str) -> None:
        """Edit a file, as an editor saves it."""
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert before in text
        file.write_text(text.replace(before, after), encoding="utf-8")


@contextmanager
def dev(folder: Path, engine: int, pages: int) -> Generator[Workshop]:
    """Run `make dev`, and break it off as a person does."""
    options = f"--engine {engine} --pages {pages} --home {folder / 'home'}"
    with subprocess.Popen(  # noqa: S603 - fixed command
        (shutil.which("make") or "make", *OLD, "dev", f"DEV={options}"),
        cwd=copied(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as told:
        try:
            yield Workshop(folder, told)
        finally:
            os.killpg(told.pid, signal.SIGINT)
            told.communicate()
            shutil.rmtree(folder / "web/node_modules")  # tens of thousands of names


def copied(folder: Path) -> Path:
    """The project as far as `make dev` needs it; what is installed is there by links."""
    shutil.copy2(ROOT / "Makefile", folder)
    shutil.copytree(ROOT / "web", folder / "web", ignore=MADE)
    shutil.copytree(
        ROOT / "web/node_modules",
        folder / "web/node_modules",
        symlinks=True,
        copy_function=_linked,
        ignore=shutil.ignore_patterns(".vite*"),  # what Vite writes there would be written to both
    )
    (folder / ".venv").symlink_to(ROOT / ".venv")
    (folder / "src").mkdir()
    (folder / "src/changed.py").write_text("", encoding="utf-8")
    return folder


def _linked(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # on another disk
        shutil.copy2(source, target)


def free_ports() -> tuple[int, int]:
    """Two ports where nobody listens."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        return one.getsockname()[1], two.getsockname()[1]


def listening(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


def connected(page: Page) -> None:
    """Wait until the engine answers through the page's own address."""
    page.wait_for_function("() => fetch('/api/health').then((told) => told.ok, () => false)")


def test_one_command_starts_both_and_a_change_reaches_the_open_page(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("whoever works on the pages sits at a desk")
    engine, pages = free_ports()
    with dev(tmp_path, engine, pages) as workshop:
        link = workshop.hear(rf"http://127\.0\.0\.1:{pages}/#pair=\w+")
        page = visit(link)
        expect(page.get_by_role("heading", name=BEFORE)).to_be_visible(timeout=120_000)
        page.evaluate("() => { window.neverLeft = true }")
        page.get_by_label("Write a message").fill("Half a sentence")
        workshop.change("web/src/lib/thread/Welcome.svelte", BEFORE, AFTER)
        expect(page.get_by_role("heading", name=AFTER)).to_be_visible()
        expect(page.get_by_label("Write a message")).to_have_value("Half a sentence")
        assert page.evaluate("() => window.neverLeft")
        workshop.change("src/changed.py", "", "CHANGED = True\n")
        workshop.hear("the engine starts again")
        workshop.hear(rf"http://127\.0\.0\.1:{pages}/#pair=\w+")
        connected(page)
        assert page.evaluate("() => window.neverLeft")
    assert not listening(engine)
    assert not listening(pages)
