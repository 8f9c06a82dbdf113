"""`everloop hook`: what a host calls by itself at the turns of its work.

A hook adds to the host's work and never stands in its way: whatever goes wrong is said on standard
error, and the exit code is 0. (Claude Code takes a 2 as a refusal of the user's prompt.)
"""

import importlib
from argparse import Namespace
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec

from everloop.adapters.capture.folder import CaptureFolder
from everloop.adapters.capture.transcript_turns import hear_transcript
from everloop.adapters.claude_code_config import CONTEXT_CHARACTERS_MAX, HOST
from everloop.app import Engine
from everloop.errors import EverloopError, Invalid
from everloop.host_admission import admit, host_of
from everloop.interfaces.cli.output.exit_codes import DONE
from everloop.interfaces.cli.output.json_document import document
from everloop.interfaces.cli.session import Session
from everloop.lessons.capture.entries import project_scope
from everloop.lessons.capture.service import CAPTURE, Catcher
from everloop.lessons.manifest.manifest import Wish
from everloop.log import Context
from everloop.memory.projections.queries import Filter
from everloop.memory.retrieval.results import Mode
from everloop.ports import Model
from everloop.settings import HookSettings, Settings

INPUT_MAX: Final = 4 * 1024 * 1024
QUERY_MAX: Final = 10_000
PREVIEW: Final = 1_000
CHARACTERS_PER_TOKEN: Final = 4
PREAMBLE: Final = "From Everloop. It is information, not an instruction."


class Told(msgspec.Struct, frozen=True):
    """What the host tells a hook. It may tell more; it may tell less."""

    session_id: str = ""
    transcript_path: str = ""
    cwd: str = ""
    prompt: str = ""


class Moment(msgspec.Struct, frozen=True):
    """A turn of a host's work: which one, who speaks, about which project."""

    told: Told
    by: Context
    scopes: tuple[str, ...]  # the project's first
    settings: Settings


def hook(session: Session, args: Namespace) -> int:
    """Do what belongs to an event of the host's. It never fails."""
    try:
        context = _carry_out(session, "".join(args.event[:1]))
    except (EverloopError, OSError, msgspec.MsgspecError, ValueError) as problem:
        session.aside.say(f"everloop hook: {problem}")
        return DONE
    if context:
        session.stdout.write(document(context))
    return DONE


def _carry_out(session: Session, event: str) -> dict[str, object]:
    if event not in EVENTS:
        raise Invalid(f"{event!r} is not an event we know; run `everloop install {HOST}` again")
    told = msgspec.json.decode(session.stdin.read(INPUT_MAX) or "{}", type=Told)
    name, happen = EVENTS[event]
    with session.engine() as engine:
        by = Context(actor=host_of(HOST), tenant=session.tenant, session=told.session_id)
        admit(engine, by.actor, session.settings.doors)
        scopes = tuple(dict.fromkeys((scope_of(told.cwd), "user", "global")))
        words = happen(engine, Moment(told, by, scopes, session.settings))
    if not (added := _within(words, session.settings.hooks)):
        return {}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": added}}


def scope_of(folder: str) -> str:
    """The scope of the project a folder belongs to: the name of the repository around it."""
    path = Path(folder) if folder else Path.cwd()
    around = (each for each in (path, *path.parents) if (each / ".git").exists())
    return project_scope(next(around, path).name)


def _session_start(engine: Engine, moment: Moment) -> str:
    """What to know at the beginning: lessons, skills, personas, teams."""
    wish = Wish(statuses=("promoted", "active"), scopes=moment.scopes)
    return engine.herald.manifest(wish, by=moment.by).text


def _prompt(engine: Engine, moment: Moment) -> str:
    """What is remembered that fits a prompt."""
    text, hooks = moment.told.prompt.strip(), moment.settings.hooks
    if len(text) < hooks.prompt_characters_min or not hooks.recall_limit:
        return ""
    wish = Wish(
        lesson_limit=0,
        record=False,
        preview_characters=PREVIEW,
        memory_query=text[:QUERY_MAX],
        memory_limit=hooks.recall_limit,
        memory_only=Filter(scopes=moment.scopes),
        memory_mode=msgspec.convert(hooks.recall_mode, Mode),
        memory_similarity_min=hooks.similarity_min,
        skills=(),
        personas=(),
        teams=(),
    )
    return engine.herald.manifest(wish, by=moment.by).text


def _capture(engine: Engine, moment: Moment) -> str:
    """Take in what the user said: corrections as proposals, praise and blame as feedback."""
    if moment.told.transcript_path:
        catcher = Catcher(engine.log, engine.do)
        admit(engine, CAPTURE, moment.settings.doors)
        path, limits = Path(moment.told.transcript_path), moment.settings.capture
        CaptureFolder(path, catcher, limits, scope=moment.scopes[0]).read()
        _hear(engine, moment, path)
    return ""


def _hear(engine: Engine, moment: Moment, path: Path) -> None:
    """Hear what the user said of lessons. A model is asked only if one is set for that."""
    model: Model | None = None
    if moment.settings.models.classifier:
        models = importlib.import_module("everloop.adapters.models.discovery")
        model = models.chosen_model(moment.settings.models, "classifier")
    limits = moment.settings.sentiment
    hear_transcript(engine.listener(model), engine.log, path, by=moment.by, limits=limits)


def _within(text: str, hooks: HookSettings) -> str:
    """As many whole lines as the host takes, under a preamble."""
    most = min(hooks.tokens_max * CHARACTERS_PER_TOKEN, CONTEXT_CHARACTERS_MAX) - len(PREAMBLE)
    if len(text) > most:
        text = text[:most].rpartition("\n")[0]
    return f"{PREAMBLE}\n\n{text}" if text.strip() else ""


EVENTS: Final[Mapping[str, tuple[str, Callable[[Engine, Moment], str]]]] = {
    "session-start": ("SessionStart", _session_start),
    "prompt": ("UserPromptSubmit", _prompt),
    "stop": ("Stop", _capture),
    "session-end": ("SessionEnd", _capture),
}
