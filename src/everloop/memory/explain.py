"""The path of an item to an answer: each gate it had to pass, and the one where it stopped.

The owner may ask why another principal does or does not see something, and is told; to anyone
else, what is out of bounds is as if it did not exist.
"""

from datetime import datetime
from typing import Literal

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Reader
from everloop.memory.browse.queries import HANDLE, HANDLE_MIN, NAMESAKES_MAX, named
from everloop.memory.model.scopes import OWNER, Asker
from everloop.memory.projections.queries import Item, asker, find
from everloop.memory.retrieval.results import Asked, Why
from everloop.memory.service import Keeper, WhyNot

Gate = Literal["here", "scope", "audience", "retired", "filter", "words", "meaning", "more", "rank"]
State = Literal["passed", "stopped", "nothing"]

_STOPS: dict[str, Gate] = {
    "unknown": "here",
    "branch": "here",
    "retracted": "here",
    "retired": "retired",
    "filter": "filter",
    "not found": "rank",
    "rank": "rank",
}


class Step(msgspec.Struct, frozen=True):
    """One gate: passed, stopped there, or nothing to be said for the item."""

    gate: Gate
    state: State
    sentence: str


class Path(msgspec.Struct, frozen=True):
    """The way of an item to an answer. `item` is None for whom it does not exist."""

    item: Item | None
    steps: tuple[Step, ...]
    verdict: WhyNot

    @property
    def found(self) -> bool:
        """Whether it is in the answer."""
        return self.verdict.reason == "here"


def id_of(reader: Reader, who: Asker, name: str) -> str:
    """The id that a name means; to the owner also that of an item that does not count here.

    A name that means nothing is returned as it is.

    Raises:
        Invalid: it could be several.
    """
    try:
        return named(reader, who, name).item_id
    except NotFound:
        if not who.owner or len(name) < HANDLE_MIN:
            return name
    ids = [row[0] for row in reader.rows(_EVER, {"name": name, "handle": HANDLE})]
    if len(ids) > 1 and name not in ids:
        some = ", ".join(ids[:NAMESAKES_MAX])
        raise Invalid(f"{name!r} could be several items", hint=f"Say more of the id: {some}")
    return ids[0] if len(ids) == 1 else name


def path(  # noqa: PLR0913 - where and when one stands are named, as everywhere
    keeper: Keeper,
    viewer: str,
    principal: str,
    item_id: str,
    asked: Asked,
    *,
    branch: str | None = None,
    as_of: int | datetime | None = None,
) -> Path:
    """Why an item is in a principal's answer, or what kept it out, as the viewer may know it."""
    with keeper.log.reading(branch=branch, as_of=as_of) as reader:
        who = asker(reader, principal)
        try:
            item = find(reader, asker(reader, viewer), item_id)
        except NotFound:
            item = None
    if item is not None and (out := _out_of_bounds(item, who)):
        passed = _passed_before(item, who, out.gate)
        return Path(item, (*passed, out), WhyNot("unknown", out.sentence))
    # What does not count for the viewer counts for nobody, and an owner is told why.
    whom = viewer if item is None else principal
    verdict = keeper.why_not(whom, item_id, asked, branch=branch, as_of=as_of)
    if item is None:
        return Path(None, (Step("here", "stopped", verdict.sentence),), verdict)
    steps = _passed_before(item, who, _STOPS.get(verdict.reason, "words"))
    if verdict.reason in {"retired", "filter", "unknown", "branch", "retracted"}:
        steps.append(Step(_STOPS[verdict.reason], "stopped", verdict.sentence))
        return Path(item, tuple(steps), verdict)
    state: State = "passed" if verdict.reason == "here" else "stopped"
    ranked = Step("rank", state, verdict.sentence)
    return Path(item, (*steps, *_searched(verdict.why, asked), ranked), verdict)


def _out_of_bounds(item: Item, who: Asker) -> Step | None:
    if not who.admits(item.scope):
        reach = ", ".join(who.scopes) or "nothing"
        sentence = f"Its scope is {item.scope}; {who.principal} is let into {reach}."
        return Step("scope", "stopped", sentence)
    if not who.may_see(item.scope, item.witnesses):
        sentence = f"Only {', '.join(item.witnesses)} witnessed it; {who.principal} did not."
        return Step("audience", "stopped", sentence)
    return None


def _passed_before(item: Item, who: Asker, gate: Gate) -> list[Step]:
    """The gates before `gate`, in order."""
    whose = "You are the owner." if who.principal == OWNER else f"{who.principal} is let in."
    among = f"Witnessed by {', '.join(item.witnesses)}." if item.witnesses else "For everyone."
    gates = (
        Step("here", "passed", "It counts where you stand."),
        Step("scope", "passed", f"Its scope is {item.scope}. {whose}"),
        Step("audience", "passed", among),
        Step("retired", "passed", "It was retired." if item.retired else "It was not retired."),
        Step("filter", "passed", "It fits what was asked for."),
    )
    names = [step.gate for step in gates]
    return list(gates[: names.index(gate)] if gate in names else gates)


def _searched(why: Why | None, asked: Asked) -> list[Step]:
    """What each leg and the boosts made of it."""
    found = {leg.leg: leg for leg in why.legs} if why else {}
    steps: list[Step] = []
    legs: tuple[tuple[Gate, str, str], ...] = (
        ("words", "text", "share of the question"),
        ("meaning", "semantic", "similarity"),
    )
    for gate, mode, measure in legs:
        if asked.mode not in {mode, "hybrid"}:
            steps.append(Step(gate, "nothing", "Not searched in this mode."))
        elif leg := found.get(gate):
            sentence = f"Rank {leg.rank}, {measure} {leg.similarity:.2f}: {leg.points:+.2f} points."
            steps.append(Step(gate, "passed", sentence))
        else:
            steps.append(Step(gate, "nothing", f"Its {gate} did not lead there."))
    boosts = (
        "; ".join(f"{REASONS.get(r, r)} {points:+.2f}" for r, points in why.boosts) if why else ""
    )
    steps.append(Step("more", "passed" if boosts else "nothing", f"{boosts or 'Nothing more'}."))
    return steps


REASONS: dict[str, str] = {
    "significance": "it matters",
    "pinned": "it is pinned",
    "recency": "it is recent",
    "time": "the question names its time",
    "named": "the question names who said it",
    "neighbours": "what was said next to it fits",
    "expired": "it no longer holds",
}

_EVER = """
SELECT DISTINCT item_id FROM memory_items WHERE :name IN (
    item_id, substr(item_id, -length(:name)), substr(item_id, -:handle, length(:name)))
"""
