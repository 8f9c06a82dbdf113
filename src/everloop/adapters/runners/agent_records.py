"""What every agent's process tells: records as lines of JSON, read into reports and a transcript.

Each agent runs in a host process (`claude_host.py`, `acp_host.py`) that writes the same records.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from everloop.inbox import Choice, Question
from everloop.workers import (
    ApprovalReport,
    Conclusion,
    DeliveredReport,
    Parsed,
    ProcessExit,
    QuestionReport,
    Reply,
    Report,
    SessionReport,
    SpendingReport,
    Task,
    TranscriptEntry,
)

RECORDS_BYTES_MAX = 67_108_864
APPROVED = "The user approved this plan. Carry it out:\n\n"
GO_ON = "Go on with the task where you stopped."
PACKAGES = Path(__file__).parents[3]  # the folder that `everloop` is imported from
START = "import sys; sys.path.insert(0, sys.argv[1]); from everloop.adapters.runners.{} import main"


def host_command(module: str, folder: Path) -> tuple[str, ...]:
    """The command that runs a host process, whatever the folder and environment it starts in."""
    start = f"{START.format(module)}; main(sys.argv[2])"
    return (sys.executable, "-I", "-c", start, str(PACKAGES), str(folder))


def host_needs() -> tuple[Path, ...]:
    """What a host process must be able to read."""
    return Path(sys.prefix), Path(sys.base_prefix), PACKAGES / "everloop"


def with_known_session(task: Task, agent: Path) -> Task:
    """The task, without its session if the agent's folder was removed for its age.

    It has what the session cost so far, so going on with it would book that again.
    """
    return task if agent.exists() else msgspec.structs.replace(task, session_id="")


def parse_records(data: bytes, *, ended: bool) -> Parsed:
    """The whole lines of a piece of output."""
    whole = len(data) if ended else data.rfind(b"\n") + 1
    entries: list[TranscriptEntry] = []
    reports: list[Report] = []
    for line in data[:whole].splitlines():
        record = _decode(line)
        if entry := _entry(record):
            entries.append(entry)
        if report := _report(record):
            reports.append(report)
    return Parsed(whole, tuple(entries), tuple(reports))


def conclude_records(task: Task, ended: ProcessExit, tail: bytes, agent: str) -> Conclusion:
    """What the last record says; without one, what happened is uncertain."""
    if ended.reason == "cancelled":
        return Conclusion("cancelled", "It was cancelled.", claim=_last_text(tail))
    if ended.reason == "timeout":
        reason = f"It took longer than {task.spec.limits.time_s} s."
        return Conclusion("paused", reason, limit="time", claim=_last_text(tail))
    records = [_decode(line) for line in tail.splitlines() if b'"type": "end"' in line]
    if not records:
        said = f"{agent} ended without a result (exit code {ended.exit_code})."
        return Conclusion("uncertain", said)
    last = {key: value for key, value in records[-1].items() if key != "type"}
    return msgspec.convert(last, Conclusion)


def _last_text(tail: bytes) -> str:
    """What the agent said last: its partial result, if it was stopped."""
    records = (_decode(line) for line in reversed(tail.splitlines()))
    return next((str(one.get("text", "")) for one in records if one.get("type") == "text"), "")


def input_records(task: Task, sent: Sequence[str]) -> list[tuple[str, bytes]]:
    """Answers that came while the process runs, and messages of the user."""
    lines = [(one.call_id, reply_record(one)) for one in task.replies]
    lines += [
        (one.message_id, {"type": "message", "id": one.message_id, "text": one.text})
        for one in task.steering
    ]
    return [(name, json.dumps(line).encode()) for name, line in lines if name not in sent]


def agent_prompt(task: Task, planning: str) -> str:
    """What to tell the agent now: the brief, the approved plan, or what the user wants changed.

    An agent without a session, as on a node that took the task over, is told all of it.
    """
    if not task.session_id:
        brief = f"{planning}{task.spec.brief}" if task.step == "plan" else task.spec.brief
        plan = (f"{APPROVED}{task.plan}",) if task.plan_approved else ()
        return "\n\n".join((brief, *plan, *task.feedback))
    if task.feedback:
        return "\n\n".join(task.feedback)
    if task.step == "plan":
        return f"{planning}{task.spec.brief}"
    if task.plan_approved:
        return f"{APPROVED}{task.plan}"
    if task.attempts > 1:
        return GO_ON
    return task.spec.brief


def reply_record(reply: Reply) -> dict[str, Any]:
    """The user's answer, as a host process takes it."""
    plain: dict[str, Any] = msgspec.to_builtins(reply)
    return {"type": "reply", **plain}


def _decode(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {"type": "notice", "text": line.decode(errors="replace")}
    return cast("dict[str, Any]", record) if isinstance(record, dict) else {}


def _entry(record: dict[str, Any]) -> TranscriptEntry | None:
    text, ref = str(record.get("text", "")), str(record.get("id", ""))
    match record.get("type"):
        case "text":
            return TranscriptEntry("text", text)
        case "tool_call":
            return TranscriptEntry("tool_call", text, str(record.get("name", "")), ref)
        case "tool_result":
            name = "failed" if record.get("failed") else ""
            return TranscriptEntry("tool_result", text, name, ref)
        case "delivered":
            return TranscriptEntry("steering", text, "", ref)
        case "notice" if text.strip():
            return TranscriptEntry("notice", text)
        case _:
            return None


def _report(record: dict[str, Any]) -> Report | None:
    name = str(record.get("id", ""))
    match record.get("type"):
        case "session":
            return SessionReport(name)
        case "question":
            return QuestionReport(name, _questions(record.get("questions", [])))
        case "approval":
            return ApprovalReport(name, str(record["tool"]), str(record["text"]))
        case "spent":
            model = str(record.get("model", ""))
            return SpendingReport(float(record["cost_usd"]), int(record["tokens"]), model)
        case "delivered":
            return DeliveredReport(name)
        case _:
            return None


def _questions(asked: list[dict[str, Any]]) -> tuple[Question, ...]:
    """The agent's questions as a form; what is chosen goes back by its label."""
    return tuple(
        Question(
            f"q{index}",
            str(one.get("header", "")),
            str(one.get("question", "")),
            tuple(
                Choice(
                    str(option["label"]), str(option["label"]), str(option.get("description", ""))
                )
                for option in one.get("options", [])
            ),
            bool(one.get("multiSelect")),
        )
        for index, one in enumerate(asked, start=1)
    )
