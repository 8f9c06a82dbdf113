"""Decisions about a lesson's text and status: pure functions of its state, the command, the actor.

Every fact about a lesson depends on its proposal (`because`); a consequence of another fact in the
same append depends on that one (`beside`). So retracting a fact retracts exactly what it led to.
"""

import re

import msgspec

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.lessons.gate import checks
from everloop.lessons.gate.case import GateCase
from everloop.lessons.model.commands import (
    ActivateLesson,
    DemoteLesson,
    DiscardLesson,
    EditLesson,
    PromoteLesson,
    ProposeLesson,
    SupersedeLesson,
)
from everloop.lessons.model.decision_context import (
    check_speaks_for_user,
    lookup_of,
    may_see,
    speaks_for_user,
    trust_grounds,
)
from everloop.lessons.model.events import (
    Evidence,
    LessonActivated,
    LessonDemoted,
    LessonDiscarded,
    LessonEdited,
    LessonPromoted,
    LessonProposed,
    LessonSeeded,
    LessonSuperseded,
    MemoryEvidence,
    PromotionRefused,
    QuoteEvidence,
)
from everloop.lessons.model.lifecycle import (
    APPROVED_STATUSES,
    LIVE_STATUSES,
    Operation,
    Status,
    next_status,
)
from everloop.lessons.model.state import PROTECTED_AUTHORS, Lesson, text_digest
from everloop.lessons.settings import GateRules
from everloop.log import DecisionContext, Draft, Event
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.events import CitationClosed, Cited
from everloop.memory.model.scopes import OWNER, check_scope

AUTHORS = ("user", "agent", "pack")
DESCRIPTION_MAX = 1_024
BODY_MAX = 50_000


class ReplacementRefused(Conflict):
    """One lesson cannot replace another. `code` is what hosts of loop-engine know."""

    def __init__(self, message: str, code: str, hint: str) -> None:
        super().__init__(message, hint=hint)
        self.code = code


_LESSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


def propose_lesson(
    lesson: Lesson | None, command: ProposeLesson, asking: DecisionContext
) -> list[Draft]:
    """Propose a lesson. Repeating it changes nothing; a pack's known lesson gets the new text."""
    author = _author(command, asking)
    _check_proposal(command, author)
    if lesson is not None:
        return _propose_again(lesson, command, asking)
    proposed = LessonProposed(
        lesson_id=command.lesson_id,
        description=command.description.strip(),
        body=command.body.strip(),
        scope=check_scope(command.scope),
        author=author,
        session=asking.by.session,
        evidence=verify_evidence(command.evidence, asking),
        pack_id=command.pack_id if author == "pack" else "",
        external_id=command.external_id if author == "pack" else "",
        source=command.source,
        target_skill=command.target_skill,
    )
    cited = citation_drafts(
        command.lesson_id, proposed.evidence, asking, by_user=author in PROTECTED_AUTHORS
    )
    drafts = [Draft(proposed, command.because), *cited]
    if author == "pack" and speaks_for_user(asking):
        drafts.append(_grant(LessonActivated(command.lesson_id), asking))
    if _is_seeded(command, asking):
        digest = text_digest(proposed.description, proposed.body)
        seeded = LessonSeeded(command.lesson_id, digest, command.pack_id)
        drafts.append(_grant(seeded, asking))
    return drafts


def edit_lesson(lesson: Lesson | None, command: EditLesson, asking: DecisionContext) -> list[Draft]:
    """Edit the given fields. Only the user may edit what a user wrote.

    The user or the gate approved the text of an active or promoted lesson, so no agent may edit it.
    """
    known = require_lesson(lesson, command.lesson_id)
    next_status(known.status, Operation.EDIT, known.lesson_id)
    if known.protected and asking.by.actor != OWNER:
        raise Forbidden(
            f"{known.lesson_id!r} was written by a user",
            hint="Propose a lesson of your own; the user decides which one stays.",
        )
    if known.status is not Status.PENDING and not speaks_for_user(asking):
        raise Forbidden(
            f"{known.lesson_id!r} is {known.status}, so {asking.by.actor} may not edit it",
            hint="Propose a new lesson with your text, and let it supersede this one.",
        )
    description = known.description if command.description is None else command.description.strip()
    body = known.body if command.body is None else command.body.strip()
    _check_words(description, body)
    if (description, body) == (known.description, known.body):
        return []
    edited = LessonEdited(known.lesson_id, description, body, asking.by.session)
    return [lesson_draft(known, edited), *demotion_drafts(known, "its words were changed")]


def activate_lesson(
    lesson: Lesson | None, command: ActivateLesson, asking: DecisionContext
) -> list[Draft]:
    """Activate it. Only the user may, or a host that they trust."""
    known = require_lesson(lesson, command.lesson_id)
    check_speaks_for_user(asking, f"activate {known.lesson_id!r}")
    check_unchanged(known, command.text_digest)
    if next_status(known.status, Operation.ACTIVATE, known.lesson_id) is None:
        return []
    activated = LessonActivated(known.lesson_id)
    return [lesson_draft(known, activated, known.words_at, *trust_grounds(asking))]


def promote_lesson(
    lesson: Lesson | None, command: PromoteLesson, asking: DecisionContext, rules: GateRules
) -> list[Draft]:
    """Promote the lesson if its case, `asking.known`, passes the gate; else record why not."""
    known = require_lesson(lesson, command.lesson_id)
    if known.status is Status.PROMOTED:
        return []
    case: GateCase = msgspec.structs.replace(asking.known, now=asking.now)
    found = checks.violations(case, rules)
    if found:
        reasons = tuple(violation.message for violation in found)
        if _comparable(reasons) == _comparable(known.refused):
            return []
        return [lesson_draft(known, PromotionRefused(known.lesson_id, known.digest, reasons))]
    next_status(known.status, Operation.PROMOTE, known.lesson_id)
    cited = tuple(memory.item_id for memory in checks.valid_citations(case))
    promoted = LessonPromoted(known.lesson_id, known.digest, cited)
    return [Draft(promoted, checks.grounds(case, rules))]


def demote_lesson(
    lesson: Lesson | None, command: DemoteLesson, asking: DecisionContext
) -> list[Draft]:
    """Make a promoted lesson active again: by the user, or by the engine if its support is gone.

    A demotion because of a fact is also recorded for a lesson that was demoted before, since the
    earlier demotion may be retracted.
    """
    known = require_lesson(lesson, command.lesson_id)
    if asking.by.actor != ENGINE:
        check_speaks_for_user(asking, f"demote {known.lesson_id!r}")
    repeated = next_status(known.status, Operation.DEMOTE, known.lesson_id) is None
    if repeated and not (command.because and known.promoted_at):
        return []
    demoted = LessonDemoted(known.lesson_id, command.reason)
    return [lesson_draft(known, demoted, known.promoted_at, *command.because)]


def discard_lesson(
    lesson: Lesson | None, command: DiscardLesson, asking: DecisionContext
) -> list[Draft]:
    """Discard it, and close its citations."""
    known = require_lesson(lesson, command.lesson_id)
    if next_status(known.status, Operation.DISCARD, known.lesson_id) is None:
        return []
    answered = asking.by.actor == ENGINE and bool(command.because)
    forced = known.protected if answered else _needs_force(known, asking, force=command.force)
    discarded = LessonDiscarded(known.lesson_id, command.reason, forced)
    return _retire(known, discarded, *command.because)


def supersede_lesson(
    lesson: Lesson | None, command: SupersedeLesson, asking: DecisionContext
) -> list[Draft]:
    """Replace it by another lesson. The chain of replacements must not form a cycle.

    Raises:
        Conflict: the other is the same lesson, is missing or discarded, or leads back to this one.
    """
    known = require_lesson(lesson, command.lesson_id)
    if known.status is Status.SUPERSEDED and known.superseded_by == command.by:
        return []
    _check_replacement(known, command, asking)
    next_status(known.status, Operation.SUPERSEDE, known.lesson_id)
    forced = _needs_force(known, asking, force=command.force)
    replacement = lookup_of(asking).replacement
    assert replacement is not None, "it was checked"
    superseded = LessonSuperseded(known.lesson_id, command.by, forced)
    return _retire(known, superseded, replacement.position)


# -- shared with other decisions about lessons ----------------------------------------------------


def require_lesson(lesson: Lesson | None, lesson_id: str) -> Lesson:
    """The lesson, which must exist.

    Raises:
        NotFound: it does not.
    """
    if lesson is None:
        raise NotFound(f"no lesson {lesson_id!r}", hint="`everloop lessons` lists them.")
    return lesson


def check_unchanged(lesson: Lesson, text_digest: str) -> None:
    """Check that the text has not changed since somebody saw it and agreed to it.

    Raises:
        Conflict: it has changed.
    """
    if text_digest not in ("", lesson.digest):
        raise Conflict(f"the text of {lesson.lesson_id!r} has changed since", hint="Read it again.")


def lesson_draft(lesson: Lesson, happened: Event, *because: int) -> Draft:
    """A draft that depends on the lesson's proposal: retracting that retracts it too."""
    return Draft(happened, tuple(dict.fromkeys((lesson.position, *because))))


def demotion_drafts(lesson: Lesson, reason: str) -> list[Draft]:
    """The demotion of a promoted lesson, because of the first fact of the same append.

    One that was demoted before is demoted again, since the earlier reason may be retracted.
    """
    if not lesson.promoted_at or lesson.status not in LIVE_STATUSES:
        return []
    demoted = LessonDemoted(lesson.lesson_id, reason)
    return [Draft(demoted, (lesson.position, lesson.promoted_at), beside=(0,))]


def citation_drafts(
    lesson_id: str, evidence: tuple[Evidence, ...], asking: DecisionContext, *, by_user: bool
) -> list[Draft]:
    """Citations of each memory that the evidence names and the actor may see."""
    named = {each.item_id: None for each in evidence if isinstance(each, MemoryEvidence)}
    seen = {item_id: lookup_of(asking).visible_item(asking.by, item_id) for item_id in named}
    return [
        Draft(Cited(item_id, lesson_id, by_user), (item.position,), beside=(0,))
        for item_id, item in seen.items()
        if item is not None
    ]


def verify_evidence(
    evidence: tuple[Evidence, ...], asking: DecisionContext
) -> tuple[Evidence, ...]:
    """The evidence; a quote that its item does not contain loses its `found_in`."""
    return tuple(_check_quote(each, asking) for each in evidence)


# -- helpers ---------------------------------------------------------------------------------------


def _propose_again(lesson: Lesson, command: ProposeLesson, asking: DecisionContext) -> list[Draft]:
    words = (command.description.strip(), command.body.strip())
    same = words == (lesson.description, lesson.body)
    named = (command.pack_id, command.external_id)
    if not command.external_id or named != (lesson.pack_id, lesson.external_id):
        if same:
            return []
        raise Conflict(
            f"there is a lesson {lesson.lesson_id!r} with a different text", hint="Edit that one."
        )
    if lesson.status not in LIVE_STATUSES:
        return []  # a pack does not restore what was discarded or superseded
    own = asking.by.actor == lesson.writer and lesson.status is Status.PENDING
    if not (same or own or speaks_for_user(asking)):
        raise Forbidden(
            f"{lesson.lesson_id!r} came with a pack that the user installed",
            hint="Ask the user to install the new version.",
        )
    return _upsert(lesson, command, asking, same=same)


def _upsert(
    lesson: Lesson, command: ProposeLesson, asking: DecisionContext, *, same: bool
) -> list[Draft]:
    """A pack's lesson again: its new text; and if the user installs it, what that grants."""
    words = (command.description.strip(), command.body.strip())
    session = asking.by.session
    drafts = [] if same else [lesson_draft(lesson, LessonEdited(lesson.lesson_id, *words, session))]
    seeded = _is_seeded(command, asking)
    if not (same or seeded):
        drafts += demotion_drafts(lesson, "its words were changed")
    if speaks_for_user(asking) and lesson.status is Status.PENDING:
        drafts.append(_grant_again(lesson, LessonActivated(lesson.lesson_id), asking, same=same))
    if seeded and not (same and lesson.status is Status.PROMOTED):
        happened = LessonSeeded(lesson.lesson_id, text_digest(*words), command.pack_id)
        drafts.append(_grant_again(lesson, happened, asking, same=same))
    return drafts


def _is_seeded(command: ProposeLesson, asking: DecisionContext) -> bool:
    """Whether it is seeded as promoted; only by the user in person, since that skips the gate."""
    return command.seed_as_promoted and asking.by.actor == OWNER


def _grant_again(lesson: Lesson, happened: Event, asking: DecisionContext, *, same: bool) -> Draft:
    """A draft of what the user grants to a known lesson; depends on the trust and the text."""
    if same:
        return lesson_draft(lesson, happened, lesson.words_at, *trust_grounds(asking))
    return Draft(happened, (lesson.position, *trust_grounds(asking)), beside=(0,))


def _grant(happened: Event, asking: DecisionContext) -> Draft:
    """A draft of what the user grants to a new lesson; depends on the trust, if relayed."""
    return Draft(happened, trust_grounds(asking), beside=(0,))


def _author(command: ProposeLesson, asking: DecisionContext) -> str:
    """The author. What the user proposes is the user's, whatever the request claims."""
    if command.author not in AUTHORS:
        raise Invalid(f"{command.author!r} is not an author", hint=f"Use {', '.join(AUTHORS)}.")
    if asking.by.actor == OWNER and command.author != "pack":
        return "user"
    return command.author


def _check_proposal(command: ProposeLesson, author: str) -> None:
    if not _LESSON.fullmatch(command.lesson_id):
        raise Invalid(
            f"{command.lesson_id!r} is not a lesson's id",
            hint="Use up to 128 letters, digits, dots, hyphens and underscores.",
        )
    _check_words(command.description, command.body)
    if author == "pack" and not command.pack_id:
        raise Invalid("a pack's lesson names its pack", hint="Say `pack_id`.")
    if command.seed_as_promoted and author != "pack":
        raise Invalid(
            "only a pack's lesson can be seeded as promoted", hint="Others pass the gate."
        )


def _check_words(description: str, body: str) -> None:
    for name, text, most in (
        ("description", description, DESCRIPTION_MAX),
        ("body", body, BODY_MAX),
    ):
        if not text.strip():
            raise Invalid(f"a lesson needs a {name}", hint="Say it in at least one word.")
        if len(text) > most:
            raise Invalid(f"a {name} has at most {most:,} characters", hint="Shorten it.")


def _check_replacement(lesson: Lesson, command: SupersedeLesson, asking: DecisionContext) -> None:
    replacement = lookup_of(asking).replacement
    if command.by == lesson.lesson_id:
        raise ReplacementRefused(
            f"{lesson.lesson_id!r} cannot replace itself", "self-reference", "Name another lesson."
        )
    who = lookup_of(asking).asker(asking.by)
    if replacement is None or not may_see(who, replacement.scope, replacement.writer):
        raise ReplacementRefused(
            f"there is no lesson {command.by!r} to take its place",
            "replacement-not-found",
            "Propose it first.",
        )
    if replacement.status is Status.DISCARDED:
        raise ReplacementRefused(
            f"{command.by!r} was discarded",
            "replacement-discarded",
            "Name a lesson that was not discarded.",
        )
    if lesson.lesson_id in replacement.chain:
        raise ReplacementRefused(
            f"{command.by!r} was itself superseded by {lesson.lesson_id!r}, directly or not",
            "cycle-detected",
            "Name a lesson outside this circle.",
        )
    if lesson.status is Status.SUPERSEDED:
        raise ReplacementRefused(
            f"{lesson.lesson_id!r} was superseded by {lesson.superseded_by!r} already",
            "already-superseded",
            "Supersede that one instead.",
        )


def _needs_force(lesson: Lesson, asking: DecisionContext, *, force: bool) -> bool:
    """Whether retiring the lesson needs force.

    What is active or promoted was approved by the user or the gate: no untrusted host retires it.

    Raises:
        Forbidden: it does, and the user did not force it; or the actor may not retire it.
    """
    if lesson.status in APPROVED_STATUSES:
        check_speaks_for_user(asking, f"retire {lesson.lesson_id!r}, which is {lesson.status}")
    if not lesson.protected:
        return False
    if not force:
        raise Forbidden(
            f"{lesson.lesson_id!r} was written by a user", hint="Say it with force if you mean it."
        )
    check_speaks_for_user(asking, f"retire {lesson.lesson_id!r}, which a user wrote")
    return True


def _retire(lesson: Lesson, happened: Event, *because: int) -> list[Draft]:
    """The drafts that retire a lesson and close all its citations."""
    closed = [
        Draft(CitationClosed(item_id, lesson.lesson_id), (position,), beside=(0,))
        for item_id, position in lesson.cites.items()
    ]
    return [lesson_draft(lesson, happened, *because), *closed]


def _check_quote(evidence: Evidence, asking: DecisionContext) -> Evidence:
    if not isinstance(evidence, QuoteEvidence) or not evidence.found_in:
        return evidence
    item = lookup_of(asking).visible_item(asking.by, evidence.found_in)
    words = evidence.text.strip()
    found = item is not None and bool(words) and words in item.text
    return evidence if found else QuoteEvidence(evidence.text)


def _comparable(reasons: tuple[str, ...]) -> tuple[str, ...]:
    """The reasons without the age, which changes by itself and is no new reason."""
    floor = checks.TIME_FLOOR
    return tuple(floor if reason.startswith(floor) else reason for reason in reasons)
