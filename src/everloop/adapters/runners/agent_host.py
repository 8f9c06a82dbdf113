"""What the host processes of agents share: records out, answers and messages in, a small memory.

Runs apart from the server, in the sandbox of its task, with the standard library alone.
"""

import asyncio
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

LOOK_S = 0.1


def emit(kind: str, **fields: Any) -> None:
    """Write one record."""
    line = json.dumps({"type": kind, **fields}) + "\n"
    data = line.encode()
    while data:
        data = data[os.write(1, data) :]


class AgentHost:
    """One run of an agent: its order, its memory over attempts, and what the user answers."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._order: dict[str, Any] = json.loads((folder / "order.json").read_text())
        self._memory_path = Path(self._order["agent_folder"]) / "everloop.json"
        self._memory: dict[str, Any] = self._recall()
        self._replies: dict[str, dict[str, Any]] = dict(self._order["replies"])
        self._changed = asyncio.Condition()
        self._taken: set[str] = set()  # messages that came

    async def deliver(self, message_id: str, text: str) -> None:
        """Bring a message of the user to the agent."""
        raise NotImplementedError

    async def wait_for_reply(self, call_id: str) -> dict[str, Any]:
        """The user's answer to a call, whenever it comes."""
        async with self._changed:
            await self._changed.wait_for(lambda: call_id in self._replies)
        return self._replies[call_id]

    async def wait_for_approval(self, call_id: str, tool: str, text: str) -> dict[str, Any]:
        """Ask for an approval and return the answer, which holds for this one call alone.

        The agent makes up the ids of its calls. One that it uses again is another request.
        """
        name = approval_id(call_id, tool, text)
        answered = self._memory.setdefault("answered", {})
        count = int(answered.get(name, 0))
        request = f"{name}.{count + 1}" if count else name
        emit("approval", id=request, tool=tool, text=text)
        reply = await self.wait_for_reply(request)
        answered[name] = count + 1
        self._remember()
        return reply

    async def listen(self) -> None:
        """Take in answers and messages as the server appends them."""
        path, offset = self._folder / "input", 0
        while True:
            with suppress(FileNotFoundError):
                with path.open("rb") as file:
                    file.seek(offset)
                    data = file.read()
                whole = data[: data.rfind(b"\n") + 1]
                offset += len(whole)
                for line in whole.splitlines():
                    await self._take(json.loads(line))
            await asyncio.sleep(LOOK_S)

    def book_cost(self, session: str, cost: float, tokens: int, model: str) -> None:
        """Report what was spent since the last total of a session, in whichever process."""
        totals = self._memory.setdefault("totals", {})
        before = totals.get(session, {"cost": 0.0, "tokens": 0})
        emit(
            "spent",
            cost_usd=cost - before["cost"] if cost >= before["cost"] else cost,
            tokens=tokens - before["tokens"] if tokens >= before["tokens"] else tokens,
            model=model,
        )
        totals[session] = {"cost": cost, "tokens": tokens}
        self._remember()

    async def _take(self, line: dict[str, Any]) -> None:
        if line["type"] == "message":
            if line["id"] not in self._taken:  # a server that was restarted sends it again
                self._taken.add(line["id"])
                await self.deliver(line["id"], line["text"])
            return
        async with self._changed:
            self._replies[line["call_id"]] = line
            self._changed.notify_all()

    def _recall(self) -> dict[str, Any]:
        try:
            known: dict[str, Any] = json.loads(self._memory_path.read_text())
        except (OSError, ValueError):
            return {}
        return known

    def _remember(self) -> None:
        part = self._memory_path.with_suffix(".part")
        part.write_text(json.dumps(self._memory))
        part.replace(self._memory_path)


def approval_id(call_id: str, tool: str, text: str) -> str:
    """The id of a request for approval: of the call, and of exactly what is shown of it."""
    digest = hashlib.sha256(f"{tool}\n{text}".encode()).hexdigest()
    return f"{call_id}.{digest[:16]}"


def describe_call(arguments: dict[str, Any], cwd: str) -> str:
    """Exactly what a call would run, for its approval.

    A value of several lines is marked line by line, so that none of it looks like another field.
    """
    lines = [f"{_plain(key)}:{_value(_plain(value))}" for key, value in arguments.items()]
    return "\n".join([*lines, f"in folder: {cwd}"])


def chosen_values(reply: dict[str, Any], index: int) -> list[str]:
    """What the user chose or wrote for one question of a form."""
    given: dict[str, Any] = next(
        (one for one in reply["answers"] if one["question_id"] == f"q{index}"), dict[str, Any]()
    )
    values = list(given.get("values", ()))
    if text := given.get("text", ""):
        values.append(text)
    return values


def _value(text: str) -> str:
    return f" {text}" if "\n" not in text else "\n  | " + text.replace("\n", "\n  | ")


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
