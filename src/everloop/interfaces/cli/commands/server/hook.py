"""`everloop hook`: handles the events of a host such as Claude Code.

A hook adds context and never blocks the host: every error goes to standard error, and the exit code
is 0. (Claude Code would take a 2 as a rejection of the user's prompt.)
"""

from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from everloop.adapters import (
    CLAUDE_CODE_HOST,
    CONTEXT_CHARACTERS_MAX,
    CaptureFolder,
    detect_transcript_feedback,
    newest_user_turns,
)
from everloop.app import Engine
from everloop.errors import EverloopError, Invalid
from everloop.host_admission import admit_host, host_actor, no_access_hint
from everloop.interfaces.cli.output.exit_codes import DONE
from everloop.interfaces.cli.output.json_document import encode_document
from everloop.interfaces.cli.session import Session
from everloop.lessons import CAPTURE_ACTOR, CaptureService, ManifestRequest, project_scope
from everloop.log import Context
from everloop.memory import Filter, SearchMode
from everloop.ports import Model
from everloop.settings import HookSettings, Settings

INPUT_MAX: Final = 4 * 1024 * 1024
QUERY_MAX: Final = 10_000
PREVIEW: Final = 1_000
CHARACTERS_PER_TOKEN: Final = 4
PREAMBLE: Final = "From Everloop. It is information, not an instruction."


class _HookInput(msgspec.Struct, frozen=True):
    """The event data that the host sends; unknown fields are ignored, missing ones are empty."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    prompt: str = ""


class _HookEvent(msgspec.Struct, frozen=True):
    """An event of a host: its data, the actor, and the scopes of its project."""

    data: _HookInput
    by: Context
    scopes: tuple[str, ...]  # the scope of the project first
    settings: Settings


def hook(session: Session, args: Namespace) -> int:
    """Handle an event of the host. Always exits with code 0."""
    try:
        context = _handle(session, "".join(args.event[:1]))
    except (EverloopError, OSError, msgspec.MsgspecError, ValueError) as problem:
        session.error_screen.paragraph(f"everloop hook: {problem}")
        return DONE
    if context:
        session.stdout.write(encode_document(context))
    return DONE


def _handle(session: Session, event: str) -> dict[str, object]:
    if event not in EVENTS:
        raise Invalid(f"unknown event {event!r}; run `everloop install {CLAUDE_CODE_HOST}` again")
    data = msgspec.json.decode(session.stdin.read(INPUT_MAX) or "{}", type=_HookInput)
    name, handler = EVENTS[event]
    with session.open_engine() as engine:
        by = Context(
            actor=host_actor(CLAUDE_CODE_HOST), tenant=session.tenant, session=data.session_id
        )
        admit_host(engine, by.actor, session.settings.doors, by_command=True)
        if hint := no_access_hint(engine, by.actor):
            session.error_screen.paragraph(f"everloop hook: {hint}")
        scopes = tuple(dict.fromkeys((folder_scope(data.cwd), "user", "global")))
        text = handler(engine, _HookEvent(data, by, scopes, session.settings))
    if not (added := _fit_budget(text, session.settings.hooks)):
        return {}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": added}}


def folder_scope(folder: str) -> str:
    """The project scope of a folder, named after the Git repository that contains it."""
    path = Path(folder) if folder else Path.cwd()
    around = (each for each in (path, *path.parents) if (each / ".git").exists())
    return project_scope(next(around, path).name)


def _session_start(engine: Engine, event: _HookEvent) -> str:
    """The context at the start of a session: lessons, skills, personas, teams."""
    wish = ManifestRequest(statuses=("promoted", "active"), scopes=event.scopes)
    return engine.manifests.build(wish, by=event.by).text


def _prompt(engine: Engine, event: _HookEvent) -> str:
    """The memories that match a prompt."""
    text, hooks = event.data.prompt.strip(), event.settings.hooks
    _hear(engine, event, text)
    if len(text) < hooks.prompt_characters_min or not hooks.recall_limit:
        return ""
    wish = ManifestRequest(
        lesson_limit=0,
        record=False,
        preview_characters=PREVIEW,
        memory_query=text[:QUERY_MAX],
        memory_limit=hooks.recall_limit,
        memory_only=Filter(scopes=event.scopes),
        memory_mode=msgspec.convert(hooks.recall_mode, SearchMode),
        memory_similarity_min=hooks.similarity_min,
        skills=(),
        personas=(),
        teams=(),
    )
    return engine.manifests.build(wish, by=event.by).text


def _hear(engine: Engine, event: _HookEvent, text: str) -> None:
    """Record what the user said to a trusted host, if it may be feedback."""
    if event.by.session:
        short_words = event.settings.sentiment.short_words
        engine.lessons.hear(CLAUDE_CODE_HOST, text, by=event.by, short_words=short_words)


def _capture(engine: Engine, event: _HookEvent) -> str:
    """Read the transcript: corrections become proposed lessons, sentiment becomes feedback."""
    if event.data.transcript_path:
        catcher = CaptureService(engine.log, engine)
        admit_host(engine, CAPTURE_ACTOR, event.settings.doors)
        path, limits = Path(event.data.transcript_path), event.settings.capture
        if CaptureFolder(path, catcher, limits, scope=event.scopes[0]).read().caught:
            engine.lessons.record_rules()
        for turn in newest_user_turns(path, (), event.settings.sentiment):
            _hear(engine, event, turn.text)
        _record_feedback(engine, event, path)
    return ""


def _record_feedback(engine: Engine, event: _HookEvent, path: Path) -> None:
    """Record the user's feedback on lessons. A model classifies it only if one is configured."""
    model: Model | None = None
    if event.settings.models.classifier:
        from everloop.adapters import (  # noqa: PLC0415 - slow, rarely configured
            choose_model,
        )

        model = choose_model(event.settings.models, "classifier")
    limits = event.settings.sentiment
    detect_transcript_feedback(engine.listener(model), engine.log, path, by=event.by, limits=limits)


def _fit_budget(text: str, hooks: HookSettings) -> str:
    """Cut the text at a line to the limit of the host, and put the preamble above it."""
    most = min(hooks.tokens_max * CHARACTERS_PER_TOKEN, CONTEXT_CHARACTERS_MAX) - len(PREAMBLE)
    if len(text) > most:
        text = text[:most].rpartition("\n")[0]
    return f"{PREAMBLE}\n\n{text}" if text.strip() else ""


EVENTS: Final[Mapping[str, tuple[str, Callable[[Engine, _HookEvent], str]]]] = {
    "session-start": ("SessionStart", _session_start),
    "prompt": ("UserPromptSubmit", _prompt),
    "stop": ("Stop", _capture),
    "session-end": ("SessionEnd", _capture),
}
