"""An agent that asks for one approval, then leaves a mark: `python asking_agent.py FOLDER`.

It ends while it waits, as Claude Code does, or holds the call open, as others do. Its order says
which. The standard library alone, so that hundreds of them start quickly.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

CALL = "call-1"


def emit(kind: str, **fields: Any) -> None:
    """Write one record, as host processes do."""
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def wait_for_reply(folder: Path) -> dict[str, Any]:
    """The answer that the server appends to the input."""
    while True:
        path = folder / "input"
        for line in path.read_text().splitlines(keepends=True) if path.exists() else ():
            if line.endswith("\n") and json.loads(line).get("call_id") == CALL:
                found: dict[str, Any] = json.loads(line)
                return found
        time.sleep(0.02)


def main(folder: Path) -> None:
    """Ask, and do what was approved, once."""
    order = json.loads((folder / "order.json").read_text())
    emit("session", id="ses-1")
    reply = order["replies"].get(CALL)
    if reply is None:
        emit("approval", id=CALL, tool="Bash", text=order["brief"])
        if order["defers"]:
            emit("end", outcome="waiting")
            return
        reply = wait_for_reply(folder)
    if reply["choice"] == "approve":
        with Path(order["effects"]).open("a") as file:
            file.write(order["brief"] + "\n")
    emit("end", outcome="succeeded", claim=reply["choice"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
