"""The process that runs Claude Code for one attempt, and says what happens as lines of JSON.

Run apart from the server. `FOLDER/order.json` says what to
do, `FOLDER/input` brings answers and messages while it runs. The session, and what it has cost so
far, lie in the folder of the task, so that a later attempt resumes it.

A tool that needs approval is deferred: the run ends, and no process waits for a person. If the
model called several tools at once, which cannot be deferred, the call is held open instead.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import claude_agent_sdk as sdk

from everloop.adapters.runners.agent_host import (
    AgentHost,
    approval_id,
    chosen_values,
    describe_call,
    emit,
)
from everloop.adapters.runners.path_permissions import PathPermissions

BUFFER_BYTES = 16_777_216
QUIET_S = 3.0  # how long a message that came late may take to be picked up
EDITS = ("Edit", "Write", "MultiEdit", "NotebookEdit")
READS = ("Read", "Glob", "Grep", "LS", "NotebookRead")
HELPERS = ("Task", "Agent")
FREE = frozenset(("TodoWrite", "TaskOutput", "Skill", "ToolSearch"))
# The CLI allows some of these by itself, such as `ls`, and asks no hook when a deferred call is
# resumed. A rule makes it ask each time, so that a call that was denied never runs.
SHELLS = ("Bash", "BashOutput", "KillShell", "WebFetch", "WebSearch", "Monitor")
ASKED = (*SHELLS, *READS, *HELPERS)
QUESTION = "AskUserQuestion"
PATHS = ("file_path", "notebook_path", "path")
LATER = (429, 500, 502, 503, 504, 529)


class ClaudeHost(AgentHost):
    """One run of the CLI."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._client: Any = None
        self._steered = False
        self._plan = ""
        self._permissions = PathPermissions(self._order)

    async def run(self) -> None:
        """Run until the agent has ended, needs a person, or failed."""
        self._client = sdk.ClaudeSDKClient(self._options())
        await self._client.connect()
        listening = asyncio.create_task(self.listen())
        try:
            if prompt := self._prompt():
                await self._client.query(prompt)
            await self._follow()
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening
            await self._client.disconnect()

    def _options(self) -> Any:
        order = self._order
        plan = order["step"] == "plan"
        mode = "plan" if plan else "default"
        if order["skip_permissions"] and not plan:
            mode = "bypassPermissions"
        guard = sdk.HookMatcher(
            hooks=[cast("Any", self._before_tool)], on_failure="block", timeout=60.0
        )
        session = (
            {"resume": order["session_id"]}
            if order["resume"]
            else {"session_id": order["session_id"]}
        )
        return sdk.ClaudeAgentOptions(
            cwd=order["cwd"],
            model=order["model"] or None,
            permission_mode=cast("Any", mode),
            settings=json.dumps({"permissions": {"ask": list(ASKED)}}),
            setting_sources=[],  # the repository's own settings, hooks and servers are not trusted
            strict_mcp_config=True,
            verbatim_prompts=True,
            max_buffer_size=BUFFER_BYTES,
            max_budget_usd=order["budget_usd"],
            hooks={"PreToolUse": [guard]},
            can_use_tool=self._permit,
            env=order["env"],
            stderr=_discard,
            **session,
        )

    def _prompt(self) -> str:
        """What to say first. Nothing, if a deferred call waits for its answer."""
        pending = self._memory.get("pending_call", "")
        if self._order["resume"] and pending:
            return "" if self._answers(pending) else str(self._order["prompt"])
        return str(self._order["prompt"])

    def _answers(self, call_id: str) -> bool:
        return call_id in self._replies or self._memory.get("pending_tool") == "ExitPlanMode"

    # -- permissions -------------------------------------------------------------------------------

    async def _before_tool(self, given: Any, call_id: str | None, _: Any) -> dict[str, Any]:
        """Defer whatever needs the user."""
        name, arguments = str(given["tool_name"]), dict(given.get("tool_input") or {})
        known = request_id(str(call_id), name, arguments, self._order["cwd"]) in self._replies
        if known or self._is_free(name, arguments) or self._order["skip_permissions"]:
            return {}
        decision = {"hookEventName": "PreToolUse", "permissionDecision": "defer"}
        return {"hookSpecificOutput": decision}

    def _is_free(self, name: str, arguments: dict[str, Any]) -> bool:
        given = [arguments[key] for key in PATHS if arguments.get(key) is not None]
        if name == "Glob":
            return self._permissions.may_search(
                arguments.get("pattern"), arguments.get("path") or ""
            )
        if name in READS:
            return self._permissions.may_read(given, self._own_results())
        if name in HELPERS:  # isolated, it is copied by the repository's git, or sent elsewhere
            return not arguments.get("isolation")
        if name in EDITS and self._order["step"] != "plan":
            return self._permissions.may_edit(given)
        return name in FREE

    def _own_results(self) -> list[Path]:
        """Where the CLI keeps results of this session that were too long to show."""
        configuration = Path(self._order["env"]["CLAUDE_CONFIG_DIR"])
        return list(configuration.glob(f"projects/*/{self._order['session_id']}"))

    async def _permit(self, name: str, arguments: dict[str, Any], context: Any) -> Any:
        """Answer for a call: with the user's answer, which is waited for if need be."""
        call_id = str(context.tool_use_id)
        if name == "ExitPlanMode":
            return self._permit_plan()
        skips = self._order["skip_permissions"] and name != QUESTION
        if skips or self._is_free(name, arguments):
            return sdk.PermissionResultAllow()
        request = request_id(call_id, name, arguments, self._order["cwd"])
        if request not in self._replies:
            emit_request(call_id, name, arguments, self._order["cwd"])
            await self.wait_for_reply(request)
        return to_permission(self._replies[request], arguments)

    def _permit_plan(self) -> Any:
        if self._order["step"] == "run":
            return sdk.PermissionResultAllow()
        return sdk.PermissionResultDeny(message=str(self._order["prompt"]))

    # -- following ---------------------------------------------------------------------------------

    async def _follow(self) -> None:
        async for message in self._messages():
            self._show(message)
            if isinstance(message, sdk.ResultMessage):
                self._note_cost(message)
                if self._steered and not message.is_error and not message.deferred_tool_use:
                    self._steered = False
                    continue
                self._end(message)
                return
        emit("end", outcome="uncertain", reason="Claude Code ended without a result.")

    async def _messages(self) -> AsyncIterator[Any]:
        """Messages of the CLI; none within a while ends them, once a result has come."""
        stream = self._client.receive_messages().__aiter__()
        result: Any = None
        while True:
            wait_s = QUIET_S if result is not None else None
            try:
                message = await asyncio.wait_for(stream.__anext__(), wait_s)
            except StopAsyncIteration:
                return
            except TimeoutError:
                yield result
                return
            result = message if isinstance(message, sdk.ResultMessage) else None
            yield message

    def _show(self, message: Any) -> None:
        if isinstance(message, sdk.SystemMessage) and message.subtype == "init":
            emit("session", id=message.data.get("session_id", self._order["session_id"]))
        elif isinstance(message, sdk.SystemMessage) and message.subtype == "api_retry":
            status = message.data.get("error_status")
            emit("notice", text=f"The model service answered {status}; Claude Code tries again.")
        elif isinstance(message, sdk.AssistantMessage) or (
            isinstance(message, sdk.UserMessage) and not isinstance(message.content, str)
        ):
            self._show_blocks(message.content, message.parent_tool_use_id)

    def _show_blocks(self, blocks: Any, parent: str | None) -> None:
        within = {"within": parent} if parent else {}
        for block in blocks:
            if isinstance(block, sdk.TextBlock):
                emit("text", text=block.text, **within)
            elif isinstance(block, sdk.ToolUseBlock):
                if block.name == "ExitPlanMode":
                    self._plan = str(block.input.get("plan") or "")
                shown = json.dumps(block.input, ensure_ascii=False)
                emit("tool_call", id=block.id, name=block.name, text=shown, **within)
            elif isinstance(block, sdk.ToolResultBlock):
                said = (
                    block.content if isinstance(block.content, str) else json.dumps(block.content)
                )
                emit("tool_result", id=block.tool_use_id, text=said, failed=bool(block.is_error))

    def _note_cost(self, result: Any) -> None:
        """Report what the session has cost since its last result."""
        usage: dict[str, dict[str, Any]] = result.model_usage or {}
        tokens = sum(_tokens(one) for one in usage.values())
        cost = float(result.total_cost_usd or 0.0)
        self.book_cost(result.session_id, cost, tokens, next(iter(usage), ""))

    def _end(self, result: Any) -> None:
        deferred = result.deferred_tool_use
        self._memory["pending_call"] = (
            request_id(deferred.id, deferred.name, deferred.input or {}, self._order["cwd"])
            if deferred
            else ""
        )
        self._memory["pending_tool"] = deferred.name if deferred else ""
        self._remember()
        said = str(result.result or "")
        if deferred is not None and deferred.name == "ExitPlanMode":
            arguments: dict[str, Any] = deferred.input or {}
            plan = str(arguments.get("plan") or self._plan or said)
            emit("end", outcome="succeeded", plan=plan)
        elif deferred is not None:
            emit_request(deferred.id, deferred.name, deferred.input or {}, self._order["cwd"])
            emit("end", outcome="waiting")
        elif "budget" in str(result.subtype):
            emit("end", outcome="paused", limit="cost", reason="The cost limit was reached.")
        elif result.is_error:
            status = result.api_error_status
            reason = said or "; ".join(result.errors or []) or str(result.subtype)
            emit("end", outcome="failed", reason=reason, passing=status in LATER)
        elif self._order["step"] == "plan":
            emit("end", outcome="succeeded", plan=self._plan or said)
        else:
            emit("end", outcome="succeeded", claim=said)

    async def deliver(self, message_id: str, text: str) -> None:
        """Send a message of the user into the conversation."""
        self._steered = True
        await self._client.query(text)
        emit("delivered", id=message_id, text=text)


def request_id(call_id: str, name: str, arguments: dict[str, Any], cwd: str) -> str:
    """The id under which the user is asked about a call: another one for other arguments."""
    if name == QUESTION:
        return call_id
    return approval_id(call_id, name, describe_call(arguments, cwd))


def emit_request(call_id: str, name: str, arguments: dict[str, Any], cwd: str) -> None:
    """Say that a call needs the user: a question, or an approval of exactly these arguments."""
    request = request_id(call_id, name, arguments, cwd)
    if name == QUESTION:
        emit("question", id=request, questions=arguments.get("questions", []))
        return
    emit("approval", id=request, tool=name, text=describe_call(arguments, cwd))


def to_permission(reply: dict[str, Any], arguments: dict[str, Any]) -> Any:
    """The user's answer as the CLI takes it."""
    if reply["kind"] == "question" and reply["choice"] == "answer":
        asked = arguments.get("questions", [])
        answers = {
            str(question.get("question", "")): _answer(reply, index, question)
            for index, question in enumerate(asked, start=1)
        }
        return sdk.PermissionResultAllow(updated_input={**arguments, "answers": answers})
    if reply["choice"] == "approve":
        return sdk.PermissionResultAllow()
    why = reply.get("text") or "The user said no. Do not try it in another way."
    return sdk.PermissionResultDeny(message=f"Denied by {reply.get('by', 'user')}: {why}")


def _answer(reply: dict[str, Any], index: int, question: dict[str, Any]) -> Any:
    values = chosen_values(reply, index)
    return values if question.get("multiSelect") else ", ".join(values)


def _tokens(usage: dict[str, Any]) -> int:
    kinds = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    return sum(int(usage.get(kind) or 0) for kind in kinds)


def _discard(_: str) -> None:
    """Discard the CLI's standard error."""


def main(folder: str) -> None:
    """Run the order of a folder; a failure of the CLI is the last record."""
    try:
        asyncio.run(ClaudeHost(Path(folder)).run())
    except sdk.CLINotFoundError as problem:
        emit("end", outcome="failed", reason=str(problem))
    except sdk.ClaudeSDKError as problem:
        emit("end", outcome="uncertain", reason=f"Claude Code broke off: {problem}")
