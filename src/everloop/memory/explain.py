"""Explains a search for one item: each check it passed, and the one that excluded it.

The owner may ask why another principal does or does not see an item. For everybody else, an item
that they may not see does not exist.
"""

from datetime import datetime
from typing import Literal

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Reader
from everloop.memory.browse.queries import (
    AMBIGUOUS_IDS_SHOWN_MAX,
    SHORT_ID_LENGTH,
    SHORT_ID_LENGTH_MIN,
    resolve_item,
)
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.projections.queries import Item, find_item, load_viewer
from everloop.memory.retrieval.results import RankExplanation, SearchQuery
from everloop.memory.service import MemoryService, WhyNot

SearchGate = Literal[
    "here", "scope", "audience", "retired", "filter", "words", "meaning", "more", "rank"
]
GateState = Literal["passed", "stopped", "nothing"]

_STOPS: dict[str, SearchGate] = {
    "unknown": "here",
    "branch": "here",
    "retracted": "here",
    "retired": "retired",
    "filter": "filter",
    "not found": "rank",
    "weak": "rank",
    "copy": "rank",
    "rank": "rank",
}


class GateStep(msgspec.Struct, frozen=True):
    """One check: passed, failed, or without effect for the item."""

    gate: SearchGate
    state: GateState
    sentence: str


class SearchPath(msgspec.Struct, frozen=True):
    """The checks of an item and the verdict. `item` is None if the viewer may not see it."""

    item: Item | None
    steps: tuple[GateStep, ...]
    verdict: WhyNot

    @property
    def found(self) -> bool:
        """Whether the item is among the results."""
        return self.verdict.reason == "here"


def resolve_id(reader: Reader, who: Viewer, name: str) -> str:
    """Resolve an id or short id; for the owner also that of a retracted or hidden item.

    A name that matches nothing is returned unchanged.

    Raises:
        Invalid: several items match.
    """
    try:
        return resolve_item(reader, who, name).item_id
    except NotFound:
        if not who.is_owner or len(name) < SHORT_ID_LENGTH_MIN:
            return name
    ids = [row[0] for row in reader.rows(_ALL_IDS, {"name": name, "handle": SHORT_ID_LENGTH})]
    if len(ids) > 1 and name not in ids:
        some = ", ".join(ids[:AMBIGUOUS_IDS_SHOWN_MAX])
        raise Invalid(f"{name!r} matches several items", hint=f"Use more of the id: {some}")
    return ids[0] if len(ids) == 1 else name


def explain_item(  # noqa: PLR0913 - branch and time are keyword arguments, as everywhere
    keeper: MemoryService,
    viewer: str,
    principal: str,
    item_id: str,
    asked: SearchQuery,
    *,
    branch: str | None = None,
    as_of: int | datetime | None = None,
) -> SearchPath:
    """Explain why an item is or is not in a principal's results, as far as the viewer may know."""
    with keeper.log.reading(branch=branch, as_of=as_of) as reader:
        who = load_viewer(reader, principal)
        try:
            item = find_item(reader, load_viewer(reader, viewer), item_id)
        except NotFound:
            item = None
    if item is not None and (out := _access_failure(item, who)):
        passed = _passed_before(item, who, out.gate)
        return SearchPath(item, (*passed, out), WhyNot("unknown", out.sentence))
    # An item that the viewer cannot find is hidden from everybody; the owner learns why.
    whom = viewer if item is None else principal
    verdict = keeper.why_not(whom, item_id, asked, branch=branch, as_of=as_of)
    if item is None:
        return SearchPath(None, (GateStep("here", "stopped", verdict.sentence),), verdict)
    steps = _passed_before(item, who, _STOPS.get(verdict.reason, "words"))
    if verdict.reason in {"retired", "filter", "unknown", "branch", "retracted"}:
        steps.append(GateStep(_STOPS[verdict.reason], "stopped", verdict.sentence))
        return SearchPath(item, tuple(steps), verdict)
    state: GateState = "passed" if verdict.reason == "here" else "stopped"
    ranked = GateStep("rank", state, verdict.sentence)
    return SearchPath(item, (*steps, *_ranking_steps(verdict.why, asked), ranked), verdict)


def _access_failure(item: Item, who: Viewer) -> GateStep | None:
    if not who.has_scope(item.scope):
        granted = ", ".join(who.scopes) or "nothing"
        sentence = f"Its scope is {item.scope}; {who.principal} may read {granted}."
        return GateStep("scope", "stopped", sentence)
    if not who.may_see(item.scope, item.witnesses):
        sentence = f"Only {', '.join(item.witnesses)} may see it; {who.principal} may not."
        return GateStep("audience", "stopped", sentence)
    return None


def _passed_before(item: Item, who: Viewer, gate: SearchGate) -> list[GateStep]:
    """The checks before `gate`, in order; all of them passed."""
    granted = "You are the owner." if who.principal == OWNER else f"{who.principal} may read it."
    witnesses = (
        f"Visible to {', '.join(item.witnesses)}." if item.witnesses else "Visible to everyone."
    )
    gates = (
        GateStep("here", "passed", "It exists on the current branch."),
        GateStep("scope", "passed", f"Its scope is {item.scope}. {granted}"),
        GateStep("audience", "passed", witnesses),
        GateStep("retired", "passed", "It was retired." if item.retired else "It was not retired."),
        GateStep("filter", "passed", "It matches the filter."),
    )
    names = [step.gate for step in gates]
    return list(gates[: names.index(gate)] if gate in names else gates)


def _ranking_steps(why: RankExplanation | None, asked: SearchQuery) -> list[GateStep]:
    """The contribution of each retriever and of the boosts to its rank."""
    found = {leg.leg: leg for leg in why.legs} if why else {}
    steps: list[GateStep] = []
    legs: tuple[tuple[SearchGate, str, str], ...] = (
        ("words", "text", "share of the question"),
        ("meaning", "semantic", "similarity"),
    )
    for gate, mode, measure in legs:
        if asked.mode not in {mode, "hybrid"}:
            steps.append(GateStep(gate, "nothing", "Not searched in this mode."))
        elif leg := found.get(gate):
            sentence = f"Rank {leg.rank}, {measure} {leg.similarity:.2f}: {leg.points:+.2f} points."
            steps.append(GateStep(gate, "passed", sentence))
        else:
            steps.append(GateStep(gate, "nothing", f"No match by {gate}."))
    boosts = (
        "; ".join(f"{BOOST_REASONS.get(r, r)} {points:+.2f}" for r, points in why.boosts)
        if why
        else ""
    )
    steps.append(GateStep("more", "passed" if boosts else "nothing", f"{boosts or 'No boosts'}."))
    return steps


BOOST_REASONS: dict[str, str] = {
    "significance": "it is significant",
    "pinned": "it is pinned",
    "recency": "it is recent",
    "time": "the question names its time",
    "named": "the question names who said it",
    "neighbours": "an adjacent item matches",
    "expired": "it has expired",
    "standing": "it is a standing instruction or preference",
    "told": "it was said at the time that is asked for",
    "question": "it is a question",
    "small talk": "it is small talk",
    "boilerplate": "the built-in model says it to everybody",
    "answered": "a model said it",
}

_ALL_IDS = """
SELECT DISTINCT item_id FROM memory_items WHERE :name IN (
    item_id, substr(item_id, -length(:name)), substr(item_id, -:handle, length(:name)))
"""
