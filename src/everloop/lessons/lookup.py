"""Lookups in the projections that lesson decisions need, made inside their transaction."""

from collections.abc import Collection

from everloop.lessons.model.commands import (
    GiveFeedback,
    NarrateLesson,
    ProposeLesson,
    SupersedeLesson,
    UseLesson,
)
from everloop.lessons.model.decision_context import CitedItem, DecisionLookup, Replacement
from everloop.lessons.model.events import Evidence, MemoryEvidence
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.projections.hosts import find_heard_words, trusted_actors
from everloop.lessons.projections.queries import CURRENT_STATUS, NEWEST_STATUS
from everloop.log import Command, Reader, visible
from everloop.memory.browse.queries import current_grants, items_with_ids
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import load_viewer


def trust_lookup(reader: Reader, command: Command) -> DecisionLookup:
    """The hosts that the user trusts."""
    del command
    trusted = trusted_actors(reader)
    return DecisionLookup(trusted=frozenset(trusted), trusted_at=trusted)


def audience_lookup(reader: Reader, command: Command) -> DecisionLookup:
    """The scopes that each principal may see."""
    del command
    return DecisionLookup(
        audiences={grant.principal: grant.scopes for grant in current_grants(reader)}
    )


def evidence_lookup(reader: Reader, command: ProposeLesson | NarrateLesson) -> DecisionLookup:
    """The trusted hosts, the audiences, and the memories that the evidence names."""
    named = command.evidence if isinstance(command, ProposeLesson) else command.narrative.evidence
    trusted = trusted_actors(reader)
    return DecisionLookup(
        trusted=frozenset(trusted),
        trusted_at=trusted,
        audiences={grant.principal: grant.scopes for grant in current_grants(reader)},
        items=load_cited_items(reader, {_item_id(each) for each in named} - {""}),
    )


def words_lookup(reader: Reader, command: GiveFeedback) -> DecisionLookup:
    """Where doors heard the words that feedback quotes."""
    return DecisionLookup(heard_at=find_heard_words(reader, command.words))


def replacement_lookup(reader: Reader, command: SupersedeLesson) -> DecisionLookup:
    """The replacing lesson, with the chain of lessons that replaced it in turn."""
    found = reader.rows(_REPLACEMENT, (command.by,))
    replacement = None
    if found:
        position, scope, actor, status = found[0]
        chain = tuple(row[0] for row in reader.rows(_CHAIN, (command.by,)))
        replacement = Replacement(position, scope, actor, Status(status), chain)
    return DecisionLookup(
        trusted=frozenset(trusted_actors(reader)),
        audiences={grant.principal: grant.scopes for grant in current_grants(reader)},
        replacement=replacement,
    )


def load_cited_items(reader: Reader, item_ids: Collection[str]) -> dict[str, CitedItem]:
    """The memories of these ids, without an audience check."""
    found = items_with_ids(reader, load_viewer(reader, OWNER), sorted(item_ids)) if item_ids else []
    return {i.item_id: CitedItem(i.position, i.scope, i.witnesses, i.text) for i in found}


def recorded_uses(reader: Reader, command: UseLesson) -> frozenset[tuple[str, str]]:
    """The actors and sessions that already recorded this use of the current text."""
    rows = reader.rows(_SAME_USE, (command.lesson_id, command.use_id))
    return frozenset((actor, session) for actor, session in rows)


# -- helpers ---------------------------------------------------------------------------------------

_REPLACEMENT = f"""
SELECT l.position, l.scope, l.actor, ({CURRENT_STATUS}) FROM lessons l
WHERE l.lesson_id = ? AND {visible("l")}
"""  # noqa: S608 - our own conditions
_CHAIN = f"""
WITH RECURSIVE chain(lesson_id) AS (
    VALUES (?)
    UNION
    SELECT (SELECT iif(s.status = '{Status.SUPERSEDED}', s.note, NULL) {NEWEST_STATUS})
    FROM chain JOIN lessons l ON l.lesson_id = chain.lesson_id WHERE {visible("l")}
)
SELECT lesson_id FROM chain WHERE lesson_id IS NOT NULL
"""  # noqa: S608 - our own conditions
_SAME_USE = f"""
SELECT u.actor, u.session FROM lessons l JOIN lesson_uses u ON u.lesson = l.position
WHERE l.lesson_id = ? AND u.use_id = ? AND {visible("u")} AND u.digest = (
    SELECT t.digest FROM lesson_texts t WHERE t.lesson = l.position AND {visible("t")}
    ORDER BY t.position DESC LIMIT 1)
"""  # noqa: S608 - our own conditions


def _item_id(evidence: Evidence) -> str:
    """The memory that evidence cites or quotes; empty if there is none."""
    return evidence.item_id if isinstance(evidence, MemoryEvidence) else evidence.found_in
