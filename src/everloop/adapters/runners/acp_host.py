"""The process that runs an agent of the Agent Client Protocol for one attempt.

Run apart from the server. `FOLDER/order.json` says what to do, `FOLDER/input` brings answers and
messages while it runs. A call that needs approval is held open until the user answered; this
process outlives the server, so the approval does too. The agent gets no access to files or
terminals through the protocol: what it touches, it touches in its sandbox.
"""

import asyncio
import json
import os
import signal
from asyncio import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema

from everloop.adapters.runners.agent_host import AgentHost, chosen_values, describe_call, emit
from everloop.adapters.runners.path_permissions import PathPermissions

VERSION = 1
LINE_BYTES_MAX = 16_777_216
READS = ("read", "search")
FREE = (*READS, "think")
EDITS = ("edit", "delete", "move")
LIMITS = {"max_tokens": "token", "max_turn_requests": "turn"}
NO_LOGIN = -32_000  # the protocol's code for "authentication required"
CANCELLED = schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))


class AcpHost(AgentHost):
    """One run of an agent, and the client that it talks to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._agent: Any = None
        self._session = ""
        self._said: list[str] = []  # text of the agent since its last call
        self._plan = ""
        self._quiet = False  # while a session is loaded, what it said before comes again
        self._open: set[str] = set()  # calls that wait for the user
        self._messages: list[tuple[str, str]] = []  # that the agent has not got yet
        self._cost, self._tokens = 0.0, 0
        self._titles: dict[str, str] = {}
        self._permissions = PathPermissions(self._order)

    async def run(self) -> None:
        """Run until the agent has ended its turn, or failed."""
        order = self._order
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop)
        async with acp.spawn_agent_process(
            cast("Any", self),
            *order["command"],
            env=dict(os.environ),  # with the mark by which a lost process is found
            cwd=order["cwd"],
            transport_kwargs={"stderr": subprocess.DEVNULL, "limit": LINE_BYTES_MAX},
            use_unstable_protocol=True,
        ) as (agent, _):
            self._agent = agent
            await self._connect()
            listening = asyncio.create_task(self.listen())
            try:
                response = await self._converse(order["prompt"])
            finally:
                listening.cancel()
                with suppress(asyncio.CancelledError):
                    await listening
            self._end(response)

    # -- the conversation --------------------------------------------------------------------------

    async def _connect(self) -> None:
        order, agent = self._order, self._agent
        forms = schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities())
        ready = await agent.initialize(
            protocol_version=VERSION,
            client_capabilities=schema.ClientCapabilities(elicitation=forms),
            client_info=schema.Implementation(name="everloop", version="1"),
        )
        can = ready.agent_capabilities or schema.AgentCapabilities()
        resumes = can.session_capabilities is not None and can.session_capabilities.resume
        where: dict[str, Any] = {"cwd": order["cwd"], "mcp_servers": []}
        session = order["session_id"]
        if session and resumes:
            opened = await agent.resume_session(session_id=session, **where)
        elif session and can.load_session:
            self._quiet = True
            opened = await agent.load_session(session_id=session, **where)
            self._quiet = False
        else:
            opened = await agent.new_session(**where)
            if session:
                order["prompt"] = order["whole_prompt"]
            session = opened.session_id
        self._session = session
        emit("session", id=session)
        await self._choose_mode(opened.modes if opened else None)

    async def _choose_mode(self, modes: Any) -> None:
        """Plan in the agent's own plan mode, if it has one; leave it to work."""
        if modes is None:
            return
        names = [one.id for one in modes.available_modes]
        wanted = "plan" if self._order["step"] == "plan" else self._memory.get("mode", "")
        if self._order["step"] == "plan" and modes.current_mode_id != "plan":
            self._memory["mode"] = modes.current_mode_id
            self._remember()
        if wanted in names and wanted != modes.current_mode_id:
            await self._agent.set_session_mode(session_id=self._session, mode_id=wanted)

    async def _converse(self, prompt: str) -> Any:
        """Send the prompt, and then whatever the user wrote meanwhile."""
        while True:
            response = await self._agent.prompt(
                session_id=self._session, prompt=[acp.text_block(prompt)]
            )
            self._book(response)
            if not self._messages:
                return response
            self._flush()
            prompt = "\n\n".join(text for _, text in self._messages)
            for message_id, text in self._messages:
                emit("delivered", id=message_id, text=text)
            self._messages.clear()

    async def deliver(self, message_id: str, text: str) -> None:
        """End the agent's turn, so that it reads the message next; not while a call is open."""
        self._messages.append((message_id, text))
        if not self._open:
            await self._agent.cancel(session_id=self._session)

    def _end(self, response: Any) -> None:
        said = "".join(self._said).strip()
        self._flush()
        reason = str(response.stop_reason)
        if self._order["step"] == "plan" and (reason == "end_turn" or self._plan):
            emit("end", outcome="succeeded", plan=self._plan or said)
        elif reason == "end_turn":
            emit("end", outcome="succeeded", claim=said)
        elif reason in LIMITS:
            text = f"The agent stopped at its {LIMITS[reason]} limit."
            emit("end", outcome="paused", limit=LIMITS[reason], reason=text, claim=said)
        elif reason == "refusal":
            emit("end", outcome="failed", reason=said or "The agent refused.")
        else:
            emit("end", outcome="uncertain", reason=f"The agent stopped: {reason}.")

    def _book(self, response: Any) -> None:
        if response.usage is not None:
            self._tokens += response.usage.total_tokens
        known = self._memory.get("totals", {}).get(self._session, {"cost": 0.0, "tokens": 0})
        cost = max(self._cost, known["cost"])
        self.book_cost(self._session, cost, known["tokens"] + self._tokens, "")
        self._tokens = 0

    # -- what the agent asks of its client ---------------------------------------------------------

    def on_connect(self, conn: Any) -> None:
        """Take note of the connection; it is used once it is ready."""

    async def session_update(self, session_id: str, update: Any, **more: Any) -> None:
        """Show what the agent does."""
        del session_id, more
        if self._quiet:
            return
        match update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self._said.append(text)
            case schema.ToolCallStart():
                self._flush()
                self._titles[update.tool_call_id] = update.title
                shown = json.dumps(update.raw_input, ensure_ascii=False, default=str)
                emit("tool_call", id=update.tool_call_id, name=update.title, text=shown)
            case schema.ToolCallProgress(status="completed" | "failed"):
                failed = update.status == "failed"
                emit("tool_result", id=update.tool_call_id, text=_output(update), failed=failed)
            case schema.AgentPlanUpdate():
                lines = [f"{n}. {one.content}" for n, one in enumerate(update.entries, start=1)]
                if self._order["step"] == "plan":
                    self._plan = "\n".join(lines)
            case schema.UsageUpdate():
                self._note_cost(update)
            case _:
                pass

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **more: Any
    ) -> Any:
        """Answer for a call: by rule, or with the user's answer, which is waited for."""
        del session_id, more
        self._flush()
        kind, call_id = tool_call.kind or "other", f"{self._session}.{tool_call.tool_call_id}"
        if self._order["step"] == "plan" and kind not in FREE:
            return await self._refuse_while_planning(tool_call, kind, options)
        if self._order["skip_permissions"] or self._is_free(tool_call, kind):
            return _select(options, "allow")
        tool = tool_call.title or self._titles.get(tool_call.tool_call_id) or kind
        self._open.add(call_id)
        shown = self._describe(tool_call, tool)
        reply = await self.wait_for_approval(call_id, str(tool)[:200], shown)
        self._open.discard(call_id)
        return _select(options, "allow" if reply["choice"] == "approve" else "reject")

    async def _refuse_while_planning(self, call: Any, kind: str, options: list[Any]) -> Any:
        """Take a finished plan; refuse everything else that is not reading."""
        if kind != "switch_mode":
            return _select(options, "reject")
        given = _arguments(call)
        self._plan = str(given.get("plan") or _output(call) or "".join(self._said))
        await self._agent.cancel(session_id=self._session)
        return CANCELLED

    def _is_free(self, call: Any, kind: str) -> bool:
        paths = [str(one.path) for one in call.locations or ()]
        if kind in READS:
            return self._permissions.may_call(call.raw_input, paths)
        return kind in FREE or (kind in EDITS and self._permissions.may_edit(paths))

    def _describe(self, call: Any, tool: str) -> str:
        given = _arguments(call)
        if not given:
            raw: Any = call.raw_input
            given["call"] = raw or tool
            if shown := _output(call):
                given["shows"] = shown
        if call.locations:
            given["paths"] = [one.path for one in call.locations]
        return describe_call(given, self._order["cwd"])

    async def create_elicitation(self, message: str, mode: Any, **more: Any) -> Any:
        """Ask the user with a form; what is not a form is declined."""
        del more
        form = getattr(mode, "requested_schema", None)
        if form is None:
            return schema.DeclineElicitationResponse(action="decline")
        shape: dict[str, Any] = form.model_dump(by_alias=True, exclude_none=True)
        fields: dict[str, Any] = shape.get("properties") or {}
        count = self._memory["forms"] = int(self._memory.get("forms", 0)) + 1
        self._remember()
        call_id = f"{self._session}.form.{count}"
        emit(
            "question", id=call_id, questions=[_question(message, k, f) for k, f in fields.items()]
        )
        self._open.add(call_id)
        reply = await self.wait_for_reply(call_id)
        self._open.discard(call_id)
        if reply["choice"] != "answer":
            return schema.DeclineElicitationResponse(action="decline")
        content = {
            key: _value(chosen_values(reply, index), field)
            for index, (key, field) in enumerate(fields.items(), start=1)
        }
        return schema.AcceptElicitationResponse.model_validate(
            {"action": "accept", "content": content}
        )

    async def complete_elicitation(self, elicitation_id: str, **more: Any) -> None:
        """Nothing: forms end with their answer."""

    async def ext_method(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Refuse what is no part of the protocol."""
        del params
        raise acp.RequestError.method_not_found(method)

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        """Leave what is no part of the protocol alone."""

    def _note_cost(self, update: Any) -> None:
        if update.cost is not None and update.cost.currency.upper() == "USD":
            self._cost = float(update.cost.amount)

    def _stop(self) -> None:
        """End at once; what was said so far is kept as the partial result."""
        self._flush()
        os._exit(128 + signal.SIGTERM)

    def _flush(self) -> None:
        """Show the text so far. What a turn says last is its result."""
        if text := "".join(self._said).strip():
            emit("text", text=text)
        self._said.clear()


def _select(options: list[Any], wish: str) -> Any:
    """The option that allows or rejects this one call; never one that holds for later ones too."""
    for kind in (f"{wish}_once", f"{wish}_always") if wish == "reject" else (f"{wish}_once",):
        for option in options:
            if option.kind == kind:
                chosen = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
                return schema.RequestPermissionResponse(outcome=chosen)
    return CANCELLED


def _arguments(call: Any) -> dict[str, Any]:
    """The arguments of a call, if they have names."""
    given: object = call.raw_input
    return dict(cast("dict[str, Any]", given)) if isinstance(given, dict) else {}


def _output(call: Any) -> str:
    """The text of what a call shows."""
    parts: list[str] = []
    for one in call.content or ():
        if isinstance(one, schema.FileEditToolCallContent):
            parts.append(f"{one.path}:\n{one.new_text}")
        elif isinstance(text := getattr(getattr(one, "content", None), "text", None), str):
            parts.append(text)
    return "\n".join(parts) or ("" if call.raw_output is None else str(call.raw_output))


def _question(message: str, key: str, field: dict[str, Any]) -> dict[str, Any]:
    """A field of a form as a question."""
    items: dict[str, Any] = field.get("items") or field
    labels = [str(one["const"]) for one in items.get("oneOf") or items.get("anyOf") or ()]
    labels = labels or [str(one) for one in items.get("enum") or ()]
    if field.get("type") == "boolean":
        labels = ["yes", "no"]
    title = str(field.get("title") or key)
    text = str(field.get("description") or title)
    return {
        "header": title[:40],
        "question": f"{message}\n{text}" if message else text,
        "options": [{"label": label} for label in labels],
        "multiSelect": field.get("type") == "array",
    }


def _value(values: list[str], field: dict[str, Any]) -> Any:
    """What was chosen, in the type that the form asks for."""
    text = ", ".join(values)
    match field.get("type"):
        case "array":
            return values
        case "boolean":
            return text == "yes"
        case "integer" | "number" as kind:
            with suppress(ValueError):
                return int(text) if kind == "integer" else float(text)
            return 0
        case _:
            return text


def main(folder: str) -> None:
    """Run the order of a folder; a failure of the agent is the last record."""
    try:
        asyncio.run(AcpHost(Path(folder)).run())
    except FileNotFoundError as problem:
        emit("end", outcome="failed", reason=f"{problem.filename} is not installed.")
    except acp.RequestError as problem:
        reason = f"The agent answered: {problem}."
        if problem.code == NO_LOGIN:
            reason = "The agent is not logged in. Start it once by hand and log in."
        emit("end", outcome="failed", reason=reason)
    except (ConnectionError, EOFError, OSError) as problem:
        emit("end", outcome="uncertain", reason=f"The agent broke off: {problem}")
