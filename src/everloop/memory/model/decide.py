"""Decisions about memory items: pure functions of the item's state, the command and the actor."""

from collections.abc import Sequence
from datetime import datetime

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.memory.model.commands import (
    CiteItem,
    CloseCitation,
    DemoteItem,
    GrantAudience,
    KeepContext,
    KeepPromptTexts,
    PinItem,
    RateItem,
    RelateItems,
    RememberItem,
    RepeatItem,
    RetireItem,
    ReviseItem,
    RevokeAudience,
    UnpinItem,
)
from everloop.memory.model.events import (
    PIVOTAL,
    AudienceGranted,
    AudienceRevoked,
    CitationClosed,
    Cited,
    ContextAssembled,
    Demoted,
    Ledger,
    PinGaveWay,
    Pinned,
    PromptTextKept,
    Rated,
    Related,
    Remembered,
    Repeated,
    Retired,
    Revised,
    Unpinned,
)
from everloop.memory.model.scopes import (
    NEW_HOSTS,
    OWNER,
    WORLD_PREFIX,
    acts_as_user,
    check_grant,
    check_scope,
)
from everloop.memory.model.state import AudienceState, ItemState, PromptTexts

LEARNED_VIA = ("saw", "told", "inferred", "imported")
RELATIONS = ("contradicts", "repeats")
DURABLE = "durable"
CODE_FENCES = ("```", "~~~")  # around code; its first line makes a better title
ENGINE = "engine"
TITLE_MAX = 1_024
YEAR_MIN, YEAR_MAX = 2, 9_998  # beyond these, some time zones cannot represent a time


def remember_item(
    item: ItemState | None, command: RememberItem, asking: DecisionContext
) -> list[Draft]:
    """Store an item. Idempotent; a different text under the same id is a conflict."""
    if item is not None:
        if item.text == command.text:
            return []
        raise Conflict(f"item {command.item_id!r} already exists with a different text")
    validate_new_item(command)
    _check_may_write(command.scope, asking)
    remembered = Remembered(
        item_id=command.item_id,
        title=command.title.strip() or derive_title(command.text),
        text=command.text,
        kind=command.kind,
        scope=command.scope,
        witnesses=tuple(sorted(set(command.witnesses))),
        origin=command.origin,
        learned_via=command.learned_via,
        durability=command.durability,
        happened_at=command.happened_at,
        follows=command.follows,
        derived_from=command.derived_from,
        session=asking.by.session,
    )
    relations = [_relation(command.item_id, *other) for other in command.related]
    return [Draft(remembered, command.because), *(Draft(each, beside=(0,)) for each in relations)]


def _check_may_write(scope: str, asking: DecisionContext) -> None:
    """Refuse fiction from outside: only the engine writes what characters remember."""
    if scope.startswith(WORLD_PREFIX) and asking.by.actor not in (ENGINE, OWNER):
        raise Forbidden(
            f"{asking.by.actor} cannot write into {scope!r}",
            hint="What characters remember follows from the story; use another scope.",
        )


def validate_new_item(command: RememberItem) -> None:
    """Validate a new item, independently of what is stored already.

    Raises:
        Invalid: a field is empty, too long or malformed.
    """
    _check_words(command.title, command.text)
    check_time("durability", command.durability, allowed=DURABLE)
    check_time("happened_at", command.happened_at, allowed="")
    if command.learned_via not in LEARNED_VIA:
        raise Invalid(
            f"learned_via {command.learned_via!r} is unknown", hint=f"Use {', '.join(LEARNED_VIA)}."
        )
    check_scope(command.scope)


def repeat_item(
    item: ItemState | None, command: RepeatItem, asking: DecisionContext
) -> list[Draft]:
    """Record a repetition. It depends on the item and on its own sources."""
    del asking
    similarity = round(command.similarity, 3)
    repeated = Repeated(command.item_id, command.text, similarity, command.origin)
    return _draft(_existing(item, command.item_id), repeated, *command.because)


def _new_scope(scope: str, asking: DecisionContext) -> str:
    _check_may_write(scope, asking)
    return check_scope(scope)


def revise_item(
    item: ItemState | None, command: ReviseItem, asking: DecisionContext
) -> list[Draft]:
    """Change the given fields, if they differ. Only a user can edit what a user wrote.

    An edit that is based on an older version is a conflict: it could overwrite unseen text.

    A field that keeps the value of an earlier revision depends on that revision, and is retracted
    with it.

    `asking.known` says whether a user wrote something derived from the item: a new version would
    hide it.
    """
    known = _existing(item, command.item_id)
    if not acts_as_user(asking.by.actor) and (acts_as_user(known.author) or asking.known):
        reason = "a user wrote text that is derived from it" if asking.known else "a user wrote it"
        raise Forbidden(
            f"{command.item_id} cannot be changed: {reason}",
            hint="Remember what you learned as an item of your own; memory shows both.",
        )
    witnesses = known.witnesses if command.witnesses is None else command.witnesses
    revised = Revised(
        item_id=command.item_id,
        title=_new_title(known, command),
        text=known.text if command.text is None else command.text,
        scope=known.scope if command.scope is None else _new_scope(command.scope, asking),
        witnesses=tuple(sorted(set(witnesses))),
    )
    _check_words(revised.title, revised.text)
    after = (revised.title, revised.text, revised.scope, revised.witnesses)
    if after == known.revisable_fields:
        return []
    if command.base not in (None, known.version):
        raise Conflict(
            f"{command.item_id!r} was changed since the version that this revision is based on",
            hint="Read it again, then revise it with the newest version as `base`.",
        )
    both = zip(known.revisable_fields, after, known.said_at, strict=True)
    kept = {at for old, new, at in both if old == new} - {known.position}
    return _draft(known, revised, *sorted(kept))


def rate_item(item: ItemState | None, command: RateItem, asking: DecisionContext) -> list[Draft]:
    """Rate the significance of an item. A pivotal item is pinned automatically.

    `asking.known` lists the automatic pins that it displaces: the position and id of each item.
    """
    known = _existing(item, command.item_id)
    if not 0 <= command.significance <= 3:
        raise Invalid(
            f"significance {command.significance} is not between 0 and 3",
            hint="0 routine, 1 notable, 2 significant, 3 pivotal.",
        )
    if known.rated and known.significance == command.significance:
        return []
    displaced: Sequence[tuple[int, str]] = asking.known or ()
    gone = [
        Draft(PinGaveWay(item_id, command.item_id), (position,), beside=(0,))
        for position, item_id in displaced
    ]
    return [*_draft(known, Rated(command.item_id, command.significance)), *gone]


def pin_item(item: ItemState | None, command: PinItem, asking: DecisionContext) -> list[Draft]:
    """Pin an item. Idempotent."""
    del asking
    known = _existing(item, command.item_id)
    return [] if known.pinned else _draft(known, Pinned(command.item_id))


def unpin_item(item: ItemState | None, command: UnpinItem, asking: DecisionContext) -> list[Draft]:
    """Unpin an item; this also declines an automatic pin, present or future. Idempotent."""
    del asking
    known = _existing(item, command.item_id)
    return [] if known.pinned is False else _draft(known, Unpinned(command.item_id))


def cite_item(item: ItemState | None, command: CiteItem, asking: DecisionContext) -> list[Draft]:
    """Open a citation link to an item.

    An agent cannot cite in a user's name: it would make the item immune by its own claim.
    `asking.known` is the position of the citer, if it is an item: the link depends on it.
    """
    known = _existing(item, command.item_id)
    if command.by_user and not (asking.by.actor == ENGINE or acts_as_user(asking.by.actor)):
        raise Forbidden(
            f"{asking.by.actor} cannot cite {command.item_id!r} as the user",
            hint="Cite it without `by_user`.",
        )
    if (command.citer, command.by_user) in known.citers:
        return []
    cited = Cited(command.item_id, command.citer, command.by_user)
    return _draft(known, cited, *command.because, *(asking.known or ()))


def close_citation(
    item: ItemState | None, command: CloseCitation, asking: DecisionContext
) -> list[Draft]:
    """Close a citation link. An agent cannot close a user's: that would lift the immunity."""
    known = _existing(item, command.item_id)
    if all(citer != command.citer for citer, _ in known.citers):
        return []
    if command.citer in known.cited_by_user and asking.by.actor not in (OWNER, ENGINE):
        raise Forbidden(
            f"a user cites {command.item_id!r}", hint="Only the user can close this citation."
        )
    return _draft(known, CitationClosed(command.item_id, command.citer))


def relate_items(
    item: ItemState | None, command: RelateItems, asking: DecisionContext
) -> list[Draft]:
    """Relate two items. Idempotent."""
    del asking
    known = _existing(item, command.item_id)
    related = _relation(command.item_id, command.other_id, command.relation)
    if (related.other_id, related.relation) in known.related:
        return []
    return _draft(known, related)


def _relation(item_id: str, other_id: str, relation: str) -> Related:
    if relation not in RELATIONS:
        raise Invalid(f"{relation!r} is not a relation", hint=f"Use {' or '.join(RELATIONS)}.")
    if other_id == item_id:
        raise Invalid("an item cannot be related to itself", hint="Name another item.")
    return Related(item_id, other_id, relation)


def retire_item(
    item: ItemState | None, command: RetireItem, asking: DecisionContext
) -> list[Draft]:
    """Retire an item. Only the user can retire what a user wrote or cites.

    `asking.known` lists the citers that a user wrote, of the item and of anything derived from it.
    """
    known = _existing(item, command.item_id)
    if known.retired:
        return []
    citers: Sequence[str] = asking.known or ()
    if asking.by.actor != OWNER and (citers or acts_as_user(known.author)):
        raise Forbidden(
            f"a user wrote {command.item_id!r} or stands on it",
            hint="Only the user can retire it.",
        )
    if citers and not command.force:
        raise Forbidden(
            f"{command.item_id!r} is cited by {', '.join(citers)}, which a user wrote",
            hint="Retire it with force if you mean it.",
        )
    return _draft(known, Retired(command.item_id, command.reason))


def demote_item(
    item: ItemState | None, command: DemoteItem, asking: DecisionContext
) -> list[Draft]:
    """Demote an item in favour of a summary, unless something forbids it.

    Pinned items are never demoted. `asking.known` lists other obstacles: a user's citers, or the
    summary itself if it does not cover the newest version.
    """
    known = _existing(item, command.item_id)
    immune = acts_as_user(known.author) and asking.by.actor != OWNER
    wanted = known.pinned or known.significance == PIVOTAL
    already = known.retired or command.in_favour_of in known.demoted_for
    if already or wanted or immune or asking.known:
        return []
    return _draft(known, Demoted(command.item_id, command.in_favour_of), *command.because)


def keep_context(kept: Ledger | None, command: KeepContext, asking: DecisionContext) -> list[Draft]:
    """Store the ledger of a prompt. Idempotent; a ledger is never changed."""
    del asking
    if kept is not None and kept != command.ledger:
        raise Conflict(f"ledger {command.context_id!r} already exists", hint="Use a new id.")
    if kept is not None:
        return []
    assembled = ContextAssembled(command.context_id, command.ledger, command.texts)
    return [Draft(assembled, command.because)]


def keep_prompt_texts(
    kept: PromptTexts | None, command: KeepPromptTexts, asking: DecisionContext
) -> list[Draft]:
    """Store the texts that differ from the newest of the same name."""
    del asking
    known = kept or PromptTexts()
    return [
        Draft(PromptTextKept(command.owner, one.name, one.text), one.because)
        for one in command.texts
        if not known.holds(one.name, one.text)
    ]


def grant_audience(
    audience: AudienceState | None, command: GrantAudience, asking: DecisionContext
) -> list[Event]:
    """Allow a principal to read. Only the owner can.

    The engine may admit a principal that never had a grant. `asking.known` tells whether it had
    one, including retracted ones: a principal that lost access is not admitted again.
    """
    if asking.by.actor == ENGINE and (audience is not None or asking.known):
        return []
    if asking.by.actor != ENGINE:
        _check_owner(asking)
    scopes = tuple(sorted({check_grant(scope) for scope in command.scopes}))
    if not command.principal or command.principal == OWNER:
        raise Invalid(f"{command.principal!r} needs no grant", hint="The owner sees everything.")
    if audience is not None and audience.scopes == scopes:
        return []
    return [AudienceGranted(command.principal, scopes)]


def revoke_audience(
    audience: AudienceState | None, command: RevokeAudience, asking: DecisionContext
) -> list[Event]:
    """Withdraw a principal's permission to read. Only the owner can. Idempotent."""
    _check_owner(asking)
    closes = audience is None and command.principal == NEW_HOSTS  # they need no grant to be let in
    if not closes and (audience is None or not audience.scopes):
        return []
    return [AudienceRevoked(command.principal)]


def derive_title(text: str) -> str:
    """Derive a title from a text: its first non-empty line of prose, cut at a word."""
    lines = (line.strip().lstrip("#").strip() for line in text.split("\n"))
    prose = (line for line in lines if line and not line.startswith(CODE_FENCES))
    first = next(prose, text.strip())
    if len(first) <= 80:
        return first
    return f"{first[:80].rsplit(' ', 1)[0]}…"


def principal_of(actor: str) -> str:
    """The principal that an actor reads as. The engine sees what the owner sees."""
    return OWNER if actor == ENGINE else actor


def _new_title(item: ItemState, command: ReviseItem) -> str:
    """The title after a revision. A title that was derived from the old text is derived again.

    Removing a title derives one from the text, as for a new item without a title.
    """
    text = item.text if command.text is None else command.text
    if command.title is not None:
        return command.title.strip() or derive_title(text)
    return derive_title(text) if item.title == derive_title(item.text) else item.title


def _draft(item: ItemState, event: Event, *because: int) -> list[Draft]:
    """Draft a fact about an item. It depends on the item, and is retracted with it."""
    return [Draft(event, (item.position, *because))]


def _check_owner(asking: DecisionContext) -> None:
    if asking.by.actor != OWNER:
        raise Forbidden(
            f"{asking.by.actor} may not grant or revoke access",
            hint="Only the user can, at a terminal.",
        )


def _existing(item: ItemState | None, item_id: str) -> ItemState:
    if item is None:
        raise NotFound(f"no item {item_id!r}", hint="`everloop memories` lists them.")
    return item


def _check_words(title: str, text: str) -> None:
    if not text.strip():
        raise Invalid("there is nothing to remember", hint="Say it in at least one word.")
    if len(title) > TITLE_MAX:
        raise Invalid(
            f"a title has at most {TITLE_MAX:,} characters", hint="Put the rest into the text."
        )


def check_time(name: str, value: str, *, allowed: str) -> None:
    """Validate a time in ISO 8601 with a time zone, or the one `allowed` other value.

    Raises:
        Invalid: it is neither.
    """
    if value == allowed:
        return
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as problem:
        raise Invalid(
            f"{name} {value!r} is not a time", hint="Use a form such as 2026-05-17T09:30:00+02:00."
        ) from problem
    if moment.tzinfo is None:
        raise Invalid(f"{name} {value!r} has no time zone", hint="Add one, such as Z or +02:00.")
    if not YEAR_MIN <= moment.year <= YEAR_MAX:
        raise Invalid(
            f"{name} {value!r} is out of range", hint=f"Use a year from {YEAR_MIN} to {YEAR_MAX}."
        )
