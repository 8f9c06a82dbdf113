"""An agent for browser tests that speaks the records of the Claude Code host, without a model.

It plans with a question first, then asks for an approval, changes a file and follows messages: the
message `stop` ends it. Asked for changes, it writes them into the file. Asked to run the broken
script, it fails the first time.
"""

import json
import sys
import time
from pathlib import Path

from everloop.adapters.runners.claude import ClaudeRunner
from everloop.workers import Launch, PreparedWorkspace, Task

COMMAND = "npm install \u202e; ls"  # the override would show it backwards
QUESTIONS: list[dict[str, object]] = [
    {
        "header": "Tests",
        "question": "Which tests should run?",
        "options": [{"label": "All of them"}, {"label": "Only the flaky one"}],
    },
    {
        "header": "Files",
        "question": "Which files may I change?",
        "multiSelect": True,
        "options": [{"label": "login.py"}, {"label": "test_login.py"}, {"label": "README"}],
    },
    {"header": "Style", "question": "Anything else I should know?", "options": []},
]
PLAN = "## Plan\n\n1. Wait for the *clock*, not for a second.\n2. Run the tests twice."


class ScriptedRunner(ClaudeRunner):
    """Runs this file in the place of Claude Code."""

    def launch(self, task: Task, place: PreparedWorkspace, folder: Path) -> Launch:
        """This file with the same order that the host gets."""
        planned = super().launch(task, place, folder)
        argv = (sys.executable, "-I", __file__, str(folder))
        return Launch(argv, place.path, planned.env, planned.time_s, planned.output_bytes_max)


def emit(kind: str, **fields: object) -> None:
    """Write one record."""
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def end(outcome: str, **fields: object) -> None:
    """Write the last record and leave."""
    emit("end", outcome=outcome, **fields)
    raise SystemExit(0)


def plan(replies: dict[str, object]) -> None:
    """Ask first; with the answers, write a plan."""
    emit("spent", cost_usd=0.12, tokens=4_000)
    if "ask" not in replies:
        emit("question", id="ask", questions=QUESTIONS)
        end("waiting")
    emit("text", text=f"The user said: {json.dumps(replies['ask'])}")
    end("succeeded", plan=PLAN)


def work(folder: Path, replies: dict[str, object]) -> None:
    """Ask for an approval, follow messages until one says stop, change a file."""
    if "install" not in replies:
        emit("tool_call", id="t1", name="Read", text=json.dumps({"file_path": "login.py"}))
        emit("tool_result", id="t1", text="def login(): ...")
        emit("approval", id="install", tool="Bash", text=COMMAND)
        end("waiting")
    emit("text", text="Allowed, so I go on.")
    follow(folder)
    Path("login.py").write_text("def login():\n    return wait_for_clock()\n")
    emit("spent", cost_usd=0.3, tokens=9_000)
    end("succeeded", claim="The test is no longer flaky.")


def follow(folder: Path) -> None:
    """Deliver messages until one says stop."""
    seen = 0
    while True:
        path = folder / "input"
        lines = path.read_text().splitlines() if path.exists() else []
        for line in lines[seen:]:
            seen += 1
            message = json.loads(line)
            if message["type"] == "message":
                emit("delivered", id=message["id"], text=message["text"])
                if "stop" in message["text"]:
                    return
        time.sleep(0.02)


def revise(prompt: str) -> None:
    """Put what the user wrote into the file."""
    Path("login.py").write_text("def login():\n    return wait_for_clock(seconds=2)\n")
    end("succeeded", claim=f"Changed as you asked: {prompt}")


def run_broken_script() -> None:
    """Fail the first time, and succeed the second."""
    tried = Path("tried")
    if tried.exists():
        end("succeeded", claim="The script ran.")
    tried.touch()
    end("failed", reason="The script stopped in line 3.")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    asked = json.loads((place / "order.json").read_text())
    emit("session", id=asked["session_id"])
    if asked["step"] == "plan":
        plan(asked["replies"])
    elif "broken script" in asked["prompt"] or Path("tried").exists():
        run_broken_script()
    elif "login.py, line" in asked["prompt"]:
        revise(asked["prompt"])
    else:
        work(place, asked["replies"])
