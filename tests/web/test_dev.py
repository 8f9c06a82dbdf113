"""`make dev`: one command starts server and pages, with hot reload."""

import os
import pty
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
BEFORE, AFTER = "This is your thread.", "This is your thread, reloaded."


class DevServer:
    """An editable copy of the project with `make dev` running on it."""

    def __init__(self, folder: Path, process: subprocess.Popen[str]) -> None:
        self.folder = folder
        self._process = process

    def wait_for_output(self, wanted: str) -> str:
        """Wait until its output matches, and return the match."""
        assert self._process.stdout is not None
        output: list[str] = []
        for line in self._process.stdout:
            output.append(line)
            if found := re.search(wanted, line):
                return found.group()
        raise AssertionError("".join(output))

    def change(self, path: str, before: str, after: str) -> None:
        """Edit a file."""
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        assert before in text
        file.write_text(text.replace(before, after), encoding="utf-8")


@contextmanager
def run_dev(folder: Path, engine: int, pages: int) -> Generator[DevServer]:
    """Run `make dev`, and interrupt it at the end."""
    options = f"--engine {engine} --pages {pages} --home {folder / 'home'}"
    typing, terminal = pty.openpty()  # the link is printed for a person at a terminal
    with subprocess.Popen(  # noqa: S603 - fixed command
        (shutil.which("make") or "make", *OLD, "dev", f"DEV={options}"),
        cwd=copy_project(folder),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield DevServer(folder, process)
        finally:
            os.killpg(process.pid, signal.SIGINT)
            process.communicate()
            os.close(typing)
            os.close(terminal)
            shutil.rmtree(folder / "web/node_modules")  # tens of thousands of names


def copy_project(folder: Path) -> Path:
    """Copy what `make dev` needs of the project; installed packages are linked."""
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
    """Two unused ports."""
    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        return one.getsockname()[1], two.getsockname()[1]


def listening(port: int) -> bool:
    """Whether a server listens on the port."""
    with socket.socket() as trying:
        return trying.connect_ex(("127.0.0.1", port)) == 0


def wait_until_connected(page: Page) -> None:
    """Wait until the server answers through Vite's proxy."""
    page.wait_for_function("() => fetch('/api/health').then((one) => one.ok, () => false)")


def test_make_dev_starts_server_and_pages_with_hot_reload(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("development happens on a desktop")
    engine, pages = free_ports()
    with run_dev(tmp_path, engine, pages) as dev_server:
        link = dev_server.wait_for_output(rf"http://127\.0\.0\.1:{pages}/#pair=\w+")
        page = visit(link)
        expect(page.get_by_role("heading", name=BEFORE)).to_be_visible(timeout=120_000)
        page.evaluate("() => { window.neverLeft = true }")
        page.get_by_label("Write a message").fill("Half a sentence")
        dev_server.change("web/src/lib/thread/Welcome.svelte", BEFORE, AFTER)
        expect(page.get_by_role("heading", name=AFTER)).to_be_visible()
        expect(page.get_by_label("Write a message")).to_have_value("Half a sentence")
        assert page.evaluate("() => window.neverLeft")
        dev_server.change("src/changed.py", "", "CHANGED = True\n")
        dev_server.wait_for_output("the engine starts again")
        dev_server.wait_for_output(rf"http://127\.0\.0\.1:{pages}/#pair=\w+")
        wait_until_connected(page)
        assert page.evaluate("() => window.neverLeft")
    assert not listening(engine)
    assert not listening(pages)
