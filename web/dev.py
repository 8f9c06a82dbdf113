"""The engine and the pages together, for whoever works on them; `make dev` runs it.

Vite swaps what changes in `web/`. When Python code changes, the engine starts again; pages that are
open come back by themselves. It has a home of its own, so nothing of yours is touched.
"""

import subprocess
import sys
import threading
from pathlib import Path

ROOT = Path(__file__).parent.parent
ENGINE, PAGES = 7777, 5173
LOOK_S = 1.0
SERVE = (
    sys.executable,
    "-m",
    "everloop",
    "--home",
    "build/dev-home",
    "serve",
    "--port",
    str(ENGINE),
)
VITE = (
    "npm",
    "run",
    "--silent",
    "dev",
    "--",
    "--host",
    "127.0.0.1",
    "--port",
    str(PAGES),
    "--strictPort",
)


def code() -> dict[Path, int]:
    """When each module of the engine was last written."""
    found = (ROOT / "src").rglob("*.py")
    return {path: path.stat().st_mtime_ns for path in found if path.is_file()}


def pass_on(started: subprocess.Popen[str]) -> None:
    """Pass on what the engine says; its links lead to the pages that Vite serves."""
    for line in started.stdout or ():
        sys.stdout.write(line.replace(f":{ENGINE}", f":{PAGES}"))
        sys.stdout.flush()


def engine() -> subprocess.Popen[str]:
    """Start the engine."""
    started = subprocess.Popen(SERVE, cwd=ROOT, stdout=subprocess.PIPE, text=True, bufsize=1)  # noqa: S603 - fixed command
    threading.Thread(target=pass_on, args=(started,), daemon=True).start()
    return started


def main() -> int:
    """Run both until Vite ends or somebody breaks it off."""
    pages = subprocess.Popen(VITE, cwd=ROOT / "web")  # noqa: S603 - fixed command
    serving, seen = engine(), code()
    try:
        while True:
            try:
                return pages.wait(LOOK_S)
            except subprocess.TimeoutExpired:
                now = code()
            if now != seen:
                seen = now
                sys.stdout.write("→ the code changed: the engine starts again\n")
                serving.terminate()
                serving.wait()
                serving = engine()
    except KeyboardInterrupt:
        return 0
    finally:
        for process in (serving, pages):
            process.terminate()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
