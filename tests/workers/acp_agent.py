# ruff: noqa: ARG002 - the protocol names the arguments
"""A small agent of the Agent Client Protocol, written with its SDK, that follows a script.

Run as a process: `python acp_agent.py SCRIPT STATE`. The script is a JSON list of turns; each turn
is a list of steps. The state folder counts turns over processes, as agents store their sessions.
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import acp
from acp import schema

OPTIONS = [
    schema.PermissionOption(option_id="always", name="Always", kind="allow_always"),
    schema.PermissionOption(option_id="once", name="Allow", kind="allow_once"),
    schema.PermissionOption(option_id="no", name="Reject", kind="reject_once"),
]


class ScriptedAgent:
    """Follows its script, one turn for each prompt."""

    def __init__(self, script: list[list[dict[str, Any]]], state: Path) -> None:
        self._script, self._state = script, state
        self._client: Any = None
        self._stop = asyncio.Event()
        self._calls = 0

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, **more: Any) -> schema.InitializeResponse:
        capabilities = schema.AgentCapabilities(load_session=True)
        return schema.InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=capabilities
        )

    async def new_session(self, cwd: str, **more: Any) -> schema.NewSessionResponse:
        self._note("new")
        os.chdir(cwd)
        modes = schema.SessionModeState(
            current_mode_id="default",
            available_modes=[
                schema.SessionMode(id="default", name="Default"),
                schema.SessionMode(id="plan", name="Plan"),
            ],
        )
        return schema.NewSessionResponse(session_id="ses-1", modes=modes)

    async def load_session(self, cwd: str, session_id: str, **more: Any) -> Any:
        self._note("load")
        os.chdir(cwd)
        await self._say(session_id, "What was said before. ")
        modes = schema.SessionModeState(
            current_mode_id="plan",
            available_modes=[schema.SessionMode(id=one, name=one) for one in ("default", "plan")],
        )
        return schema.LoadSessionResponse(modes=modes)

    async def set_session_mode(self, session_id: str, mode_id: str, **more: Any) -> Any:
        self._note(f"mode {mode_id}")
        return schema.SetSessionModeResponse()

    async def cancel(self, session_id: str, **more: Any) -> None:
        self._note("cancel")
        self._stop.set()

    async def prompt(self, session_id: str, prompt: list[Any], **more: Any) -> Any:
        turn = len((self._state / "prompts").read_text().splitlines()) if self._prompted else 0
        with (self._state / "prompts").open("a") as file:
            file.write(json.dumps(prompt[0].text) + "\n")
        self._stop.clear()
        for step in self._script[turn] if turn < len(self._script) else []:
            reason = await self._do(session_id, step)
            if reason:
                return schema.PromptResponse(stop_reason=reason)
        usage = schema.Usage(total_tokens=100, input_tokens=60, output_tokens=40)
        return schema.PromptResponse(stop_reason="end_turn", usage=usage)

    @property
    def _prompted(self) -> bool:
        return (self._state / "prompts").exists()

    async def _do(self, session: str, step: dict[str, Any]) -> Any:
        match step:
            case {"say": text}:
                await self._say(session, text)
            case {"run": command, **more}:
                await self._run(session, command, more.get("name", ""))
            case {"look": arguments, **more}:
                await self._look(session, arguments, **more)
            case {"ask": form}:
                await self._ask(session, form)
            case {"cost": amount}:
                cost = schema.Cost(amount=amount, currency="USD")
                update = schema.UsageUpdate(
                    session_update="usage_update", used=100, size=1000, cost=cost
                )
                await self._client.session_update(session_id=session, update=update)
            case {"wait": path}:
                while not Path(path).exists() and not self._stop.is_set():  # noqa: ASYNC110, ASYNC240
                    await asyncio.sleep(0.02)
                return "cancelled" if self._stop.is_set() else None
            case {"stop": reason}:
                return reason
            case {"fail": text}:
                raise acp.RequestError(-32_000, text)
            case _:
                raise ValueError(step)
        return None

    async def _say(self, session: str, text: str) -> None:
        update = acp.update_agent_message_text(text)
        await self._client.session_update(session_id=session, update=update)

    async def _run(self, session: str, command: str, name: str) -> None:
        """Ask for permission and run a command; without it, run nothing."""
        self._calls += 1
        name = name or f"call-{os.getpid()}-{self._calls}"
        start = acp.start_tool_call(name, "Shell", kind="execute", raw_input={"command": command})
        await self._client.session_update(session_id=session, update=start)
        call = schema.ToolCallUpdate(
            tool_call_id=name, title="Shell", kind="execute", raw_input={"command": command}
        )
        answer = await self._client.request_permission(
            session_id=session, tool_call=call, options=OPTIONS
        )
        chosen = getattr(answer.outcome, "option_id", "cancelled")
        self._note(f"permission {chosen}")
        if chosen == "once":
            shell = ["/bin/sh", "-c", command]
            done = subprocess.run(shell, capture_output=True, text=True, check=False)  # noqa: ASYNC221, S603

            said = done.stdout
        else:
            said = "not allowed"
        update: Any = acp.update_tool_call(
            name, status="completed", content=[acp.tool_content(acp.text_block(said))]
        )
        await self._client.session_update(session_id=session, update=update)

    async def _look(self, session: str, arguments: Any, at: Any = (), by: str = "") -> None:
        """Ask for permission to read, or for a file by the protocol; note what came of it."""
        if by == "protocol":
            await self._fetch(session, arguments)
            return
        self._calls += 1
        call = schema.ToolCallUpdate(
            tool_call_id=f"look-{os.getpid()}-{self._calls}",
            title="Look",
            kind="read",
            raw_input=arguments,
            locations=[schema.ToolCallLocation(path=one) for one in at],
        )
        answer = await self._client.request_permission(
            session_id=session, tool_call=call, options=OPTIONS
        )
        self._note(f"look {getattr(answer.outcome, 'option_id', 'cancelled')}")

    async def _fetch(self, session: str, path: str) -> None:
        """Ask the client for a file, which it did not offer."""
        try:
            answer = await self._client.read_text_file(session_id=session, path=path)
            self._note(f"fetched {answer.content}")
        except acp.RequestError as problem:
            self._note(f"not fetched {problem.code}")

    async def _ask(self, session: str, form: dict[str, Any]) -> None:
        asked = schema.ElicitationSchema.model_validate({"type": "object", "properties": form})
        mode = schema.ElicitationFormSessionMode(session_id=session, requested_schema=asked)
        answer = await self._client.create_elicitation(message="Please decide.", mode=mode)
        self._note(f"answer {answer.model_dump_json(exclude_none=True)}")

    def _note(self, text: str) -> None:
        with (self._state / "notes").open("a") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    scripted: Any = ScriptedAgent(json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2]))
    asyncio.run(acp.run_agent(scripted, use_unstable_protocol=True))
