"""Decisions about hosts: trust, manifests that they were shown, and phases of their tasks."""

import re

from everloop.errors import Forbidden, Invalid
from everloop.lessons.model.commands import (
    DistrustHost,
    HearWords,
    LogPhase,
    ShowManifest,
    TrustHost,
)
from everloop.lessons.model.decision_context import lookup_of, speaks_for_user
from everloop.lessons.model.events import (
    HostDistrusted,
    HostTrusted,
    ManifestShown,
    PhaseLogged,
    WordsHeard,
)
from everloop.lessons.model.state import (
    HeardWords,
    HostState,
    ManifestState,
    TaskState,
    text_digest,
)
from everloop.log import DecisionContext, Draft, Event
from everloop.memory.model.scopes import OWNER

TASK_PHASES = ("pre_research", "learn", "code", "test", "audit", "post_research", "fix")
EVERY_SCOPE = "*"
NOTE_BYTES_MAX = 16_384
WORDS_MAX = 4_000  # characters of a message that are kept
_TASK = re.compile(r"[A-Za-z0-9_-]{1,128}")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def trust_host(host: HostState | None, command: TrustHost, asking: DecisionContext) -> list[Event]:
    """Trust a host to relay the user's words. Only the user may, in person."""
    _check_user(asking, command.host)
    return [] if host is not None and host.trusted else [HostTrusted(command.host)]


def distrust_host(
    host: HostState | None, command: DistrustHost, asking: DecisionContext
) -> list[Draft]:
    """Revoke the trust in a host; it supersedes the trust, so what depended on that is gone."""
    _check_user(asking, command.host)
    if host is None or not host.trusted:
        return []
    return [Draft(HostDistrusted(command.host), (host.trusted_at,))]


def hear_words(
    heard: HeardWords | None, command: HearWords, asking: DecisionContext
) -> list[Event]:
    """Record what the user said to a host, if the user trusts it. Each text is recorded once."""
    if command.session != asking.by.session or asking.by.actor != f"agent:{command.host}":
        raise Forbidden(
            f"{asking.by.actor} may not record what was said to {command.host!r}",
            hint="A host's own hook does that.",
        )
    text = " ".join(command.text.split())[:WORDS_MAX]
    if not text or not speaks_for_user(asking):
        return []
    if heard is not None and text_digest("", text) in heard.digests:
        return []
    return [WordsHeard(command.session, text)]


def log_phase(task: TaskState | None, command: LogPhase, asking: DecisionContext) -> list[Event]:
    """Record that a phase was reached; each is recorded once.

    For an actor that does not see every scope, only its own phases count: it must not learn of
    another's task.
    """
    if not _TASK.fullmatch(command.task_id):
        raise Invalid(
            f"{command.task_id!r} is not a task's id",
            hint="Use up to 128 letters, digits, hyphens and underscores.",
        )
    if command.phase not in TASK_PHASES:
        raise Invalid(f"{command.phase!r} is no phase", hint=f"Use {', '.join(TASK_PHASES)}.")
    if len(command.note.encode()) > NOTE_BYTES_MAX:
        raise Invalid(f"a note has at most {NOTE_BYTES_MAX:,} bytes", hint="Shorten it.")
    everything = EVERY_SCOPE in lookup_of(asking).asker(asking.by).scopes
    known = () if task is None else task.phases
    if any(
        phase == command.phase and (everything or actor == asking.by.actor)
        for actor, phase in known
    ):
        return []
    return [PhaseLogged(command.task_id, command.phase, command.note)]


def show_manifest(
    shown: ManifestState | None, command: ShowManifest, asking: DecisionContext
) -> list[Event]:
    """Record which lessons were shown, once for each manifest."""
    if shown is not None:
        return []
    return [ManifestShown(command.lesson_ids, command.context_id, asking.by.session)]


def _check_user(asking: DecisionContext, host: str) -> None:
    if asking.by.actor != OWNER:
        raise Forbidden(
            f"{asking.by.actor} may not change which hosts the user trusts",
            hint="Only the user can, at a terminal: `everloop hosts`.",
        )
    if not _HOST.fullmatch(host):
        raise Invalid(
            f"{host!r} is not a host's name",
            hint="Use the name that the host passes as `--as NAME`.",
        )
