"""The engine and the pages together, for whoever works on them; `make dev` runs it.

Vite swaps what changes in `web/`. When Python code changes, the engine starts again; pages that are
open come back by themselves. It has a home of its own, so nothing of yours is touched.
"""

import argparse
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOOK_S = 1.0
START_S = 0.1


def asked() -> argparse.Namespace:
    """Where both listen, and the home: other ones let two of these run side by side."""
    parser = argparse.ArgumentParser(description="The engine and the pages, with hot reload.")
    parser.add_argument("--engine", type=int, default=7777, help="the engine's port")
    parser.add_argument("--pages", type=int, default=5173, help="the port to open in a browser")
    parser.add_argument("--home", default="build/dev-home", help="the data home")
    return parser.parse_args()


def code() -> dict[Path, int]:
    """When each module of the engine was last written."""
    found = (ROOT / "src").rglob("*.py")
    return {path: path.stat().st_mtime_ns for path in found if path.is_file()}


class Engine:
    """The engine, as often as it has to start."""

    def __init__(self, where: argparse.Namespace) -> None:
        port = str(where.engine)
        run = (sys.executable, "-m", "everloop")
        self._command = (*run, "--home", where.home, "serve", "--port", port)
        self._ports = (f":{where.engine}", f":{where.pages}")
        self._process = self._started()

    def again(self) -> None:
        """End it, and start it with the code that is there now."""
        self.end()
        self._process = self._started()

    def end(self) -> None:
        """Let it end."""
        self._process.terminate()
        self._process.wait()

    def _started(self) -> subprocess.Popen[str]:
        started = subprocess.Popen(  # noqa: S603 - fixed command
            self._command, cwd=ROOT, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        threading.Thread(target=self._pass_on, args=(started,), daemon=True).start()
        return started

    def _pass_on(self, started: subprocess.Popen[str]) -> None:
        """Pass on what it says; its links lead to the pages that Vite serves."""
        for line in started.stdout or ():
            sys.stdout.write(line.replace(*self._ports))
            sys.stdout.flush()


def vite(where: argparse.Namespace) -> subprocess.Popen[bytes]:
    """Start Vite, which asks the engine for everything that is no page."""
    command = ("npm", "run", "--silent", "dev", "--", "--host", "127.0.0.1", "--strictPort")
    env = {**os.environ, "EVERLOOP_ADDRESS": f"http://127.0.0.1:{where.engine}"}  # noqa: TID251 - Vite's own
    return subprocess.Popen((*command, "--port", str(where.pages)), cwd=ROOT / "web", env=env)  # noqa: S603 - fixed command


def served(pages: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until Vite serves, so that the engine's link leads somewhere; False if it ended."""
    while True:
        with socket.socket() as trying:
            if trying.connect_ex(("127.0.0.1", port)) == 0:
                return True
        try:
            pages.wait(START_S)
        except subprocess.TimeoutExpired:
            continue
        return False


def main() -> int:
    """Run both until Vite ends or somebody breaks it off."""
    where = asked()
    with vite(where) as pages:
        try:
            return look_after(pages, where) if served(pages, where.pages) else pages.returncode
        except KeyboardInterrupt:
            return 0
        finally:
            pages.terminate()


def look_after(pages: subprocess.Popen[bytes], where: argparse.Namespace) -> int:
    """Let the engine run beside Vite, and start it again when its code changes."""
    engine, seen = Engine(where), code()
    try:
        while True:
            try:
                return pages.wait(LOOK_S)
            except subprocess.TimeoutExpired:
                now = code()
            if now != seen:
                seen = now
                sys.stdout.write("→ the code changed: the engine starts again\n")
                engine.again()
    finally:
        engine.end()


if __name__ == "__main__":
    sys.exit(main())
