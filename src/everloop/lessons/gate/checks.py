"""The gate: may a lesson be promoted? A pure function of facts; nothing here reads or writes.

It reports every violation at once, in a fixed order, with codes and messages that hosts rely on.
What a text says about itself never matters: no check looks at words, only at who recorded what,
when, and of which words. When something is not known, the answer is no.
"""

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import Final

import msgspec

from everloop.lessons.gate.case import Case, CitedMemory, Hand, Use
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import GateRules
from everloop.memory.model.scopes import OWNER

EVERYWHERE: Final = "global"
TIME_FLOOR: Final = "time-floor"
SPECULATIVE, OBSERVED = "speculative", "observed"
_SECOND: Final = timedelta(seconds=1)


class Violation(msgspec.Struct, frozen=True):
    """What stands in the way. `message` is what hosts get; `satisfied_by`, what would help."""

    code: str
    message: str
    fact: str
    satisfied_by: str


class Check(msgspec.Struct, frozen=True):
    """One question of the gate: the fact that it found, and what stands in the way, if anything."""

    name: str
    fact: str
    violations: tuple[Violation, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether nothing stands in the way."""
        return not self.violations


def checks(case: Case, rules: GateRules) -> tuple[Check, ...]:
    """Every check in its order, passed or not."""
    return tuple(check(case, rules) for check in _CHECKS)


def violations(case: Case, rules: GateRules) -> tuple[Violation, ...]:
    """All that stands in the way of promoting a lesson; nothing if it may be promoted."""
    return tuple(violation for check in _CHECKS for violation in check(case, rules).violations)


def good_citations(case: Case) -> tuple[CitedMemory, ...]:
    """The memories that a lesson may stand on."""
    return tuple(memory for memory in case.cited if _fault(case, memory) is None)


def grounds(case: Case, rules: GateRules) -> tuple[int, ...]:
    """What a promotion stands on: without any of it, it does not count either."""
    found = [case.position, case.words_at]
    found += [memory.position for memory in good_citations(case)]
    found += [at for support in _supports(case)[: rules.supports_min] for at in support]
    found += [use.position for use in _enough_uses(case, rules)]
    found += [case.told.position] if case.told else []
    return tuple(dict.fromkeys(found))


def too_new_message(age: timedelta, rules: GateRules) -> str:
    """The message for words that are younger than the minimum age."""
    floor = timedelta(hours=rules.age_hours_min)
    return f"{TIME_FLOOR}: age={age // _SECOND}s < required={floor // _SECOND}s"


# -- the checks, in their order --------------------------------------------------------------------


def _retired(case: Case, rules: GateRules) -> Check:
    del rules
    fact = f"it is {case.status}"
    if case.status is Status.SUPERSEDED:
        return _failed(
            "standing", "already-superseded", "", fact, "promote the lesson that took its place"
        )
    if case.status is Status.DISCARDED:
        return _failed("standing", "already-discarded", "", fact, "propose it anew")
    return Check("standing", fact)


def _age(case: Case, rules: GateRules) -> Check:
    age, floor = case.now - case.written_at, timedelta(hours=rules.age_hours_min)
    fact = f"its words are {age // _SECOND // 360 / 10} h old"  # cut, not rounded
    if age >= floor:
        return Check("age", fact)
    ready = f"{case.written_at + floor:%Y-%m-%d %H:%M} UTC"
    found = Violation(TIME_FLOOR, too_new_message(age, rules), fact, f"wait until {ready}")
    return Check("age", fact, (found,))


def _uses(case: Case, rules: GateRules) -> Check:
    count = len(_counted_uses(case))
    fact = f"used {_times(count)} since its words were last changed"
    if count >= rules.uses_min:
        return Check("uses", fact)
    detail = f"observed={count} < required={rules.uses_min}"
    lacking = _times(rules.uses_min - count)
    return _failed("uses", "insufficient-applied-count", detail, fact, f"use it {lacking} more")


def _blame(case: Case, rules: GateRules) -> Check:
    del rules
    count = sum(not heard.helpful for heard in case.heard)
    fact = f"{count} thumbs-down"
    if not count:
        return Check("blame", fact)
    return _failed("blame", "thumbs-down-block", f"count={count}", fact, "let the user withdraw it")


def _support(case: Case, rules: GateRules) -> Check:
    count = len(_supports(case))
    fact = f"{count} supporting {'signal' if count == 1 else 'signals'} from outside"
    if count >= rules.supports_min:
        return Check("support", fact)
    remedy = "let the user praise it, or a runner outside the agent try it"
    if _is_users(case):
        remedy = "let a runner outside the agent try it; praise of one's own words is no support"
    return _failed("support", "missing-external-signal-sources", "", fact, remedy)


def _diversity(case: Case, rules: GateRules) -> Check:
    count = len(_origins(_counted_uses(case)))
    fact = f"used in {count} different {'session' if count == 1 else 'sessions'}"
    if count >= rules.origins_min:
        return Check("origins", fact)
    return _failed(
        "origins",
        "insufficient-origin-diversity",
        f"distinct_sessions={count} < required={rules.origins_min}",
        fact,
        "use it in another session, not one that this one started",
    )


def _narrative(case: Case, rules: GateRules) -> Check:
    del rules
    told = case.told
    if told is None or told.digest != case.digest:
        return _failed(
            "narrative",
            "missing-causal-narrative",
            "",
            "nobody said why these words hold",
            "say what set it off, what went wrong and what put it right",
        )
    fact = f"its narrative is {told.confidence}"
    if told.confidence == SPECULATIVE:
        return _failed(
            "narrative", "speculative-narrative", "", fact, "narrate a failure that was seen"
        )
    if told.confidence == OBSERVED and not told.evidenced:
        return _failed(
            "narrative",
            "observed-confidence-without-evidence-refs",
            "",
            fact,
            "name a memory, or quote words that memory holds",
        )
    return Check("narrative", fact)


def _citations(case: Case, rules: GateRules) -> Check:
    good = len(good_citations(case))
    fact = f"stands on {good} of {len(case.cited)} cited memories"
    if not case.cited:
        return _failed(
            "citations",
            "missing-memory-citation",
            "",
            fact,
            "cite a memory that is older than the lesson and from another session",
        )
    if good >= rules.citations_min:
        return Check("citations", fact)
    faults = [_fault(case, memory) for memory in case.cited]
    found = tuple(fault for fault in faults if fault is not None)
    return Check("citations", fact, found or (_too_few(good, rules, fact),))


def _verdict(case: Case, rules: GateRules) -> Check:
    del rules
    verdicts = [tried for tried in case.tried if tried.outside and tried.digest == case.digest]
    if not verdicts:
        return Check("verdicts", "no runner outside the agent tried these words")
    newest = max(verdicts, key=lambda tried: tried.position)
    fact = f"the last verdict from outside {'passed' if newest.passed else 'failed'}"
    if newest.passed:
        return Check("verdicts", fact)
    return _failed(
        "verdicts", "failed-verdict", "", fact, "mend it, and let the runner try it again"
    )


_CHECKS: Final[tuple[Callable[[Case, GateRules], Check], ...]] = (
    _retired,
    _age,
    _uses,
    _blame,
    _support,
    _diversity,
    _narrative,
    _citations,
    _verdict,
)


# -- what counts -----------------------------------------------------------------------------------


def _counted_uses(case: Case) -> list[Use]:
    """The uses of these very words."""
    return [use for use in case.uses if use.digest == case.digest]


def _origins(uses: Iterable[Use]) -> set[str]:
    """The runs that uses came from. A run that another one started counts as that one."""
    return {_root(use.session) for use in uses} - {""}


def _enough_uses(case: Case, rules: GateRules) -> list[Use]:
    """The first uses that meet both floors: the count, and the different origins."""
    counted = _counted_uses(case)
    first = {_root(use.session): use for use in reversed(counted) if use.session}
    chosen = sorted(first.values(), key=lambda use: use.position)[: rules.origins_min]
    others = [use for use in counted if use not in chosen]
    return chosen + others[: max(0, rules.uses_min - len(chosen))]


def _is_users(case: Case) -> bool:
    """Whether the user wrote these words, or some of them."""
    return any(hand.actor == OWNER for hand in case.hands)


def _supports(case: Case) -> list[tuple[int, ...]]:
    """The outside support for these very words, each with where it was recorded.

    That is a passed verdict from outside, or praise that is the user's word, unless the user wrote
    the words. What a host passes on is the user's word while they trust that host, but not what a
    run passes on about words of its own. Praise that a model guessed from what the user said is no
    word of theirs: the model has read the lesson, and may be the one that wrote it.
    """
    passed: list[tuple[int, ...]] = [
        (tried.position,)
        for tried in case.tried
        if tried.outside and tried.passed and tried.digest == case.digest
    ]
    if _is_users(case):
        return passed
    praise = [
        heard
        for heard in case.heard
        if heard.helpful and not heard.guessed and heard.digest == case.digest
    ]
    direct = [(heard.position,) for heard in praise if heard.actor == OWNER]
    relayed = [
        (heard.position, heard.trusted_at)
        for heard in praise
        if heard.trusted_at and not _is_own(case, Hand(heard.actor, heard.session))
    ]
    return [*passed, *direct, *relayed]


def _fault(case: Case, memory: CitedMemory) -> Violation | None:
    """The first thing that is wrong with a cited memory; None if it is good."""
    name = repr(memory.item_id)
    if not memory.position:
        return _violation(
            "cited-memory-not-found", name, f"there is no memory {name}", "cite one that exists"
        )
    if memory.retired:
        fact = f"{name} was let go"
        return _violation("cited-memory-retired", name, fact, "cite one that still holds")
    if memory.restricted or memory.scope not in (case.scope, EVERYWHERE):
        fact = f"{name} is for {'few' if memory.restricted else memory.scope}"
        return _violation(
            "cited-memory-out-of-scope", name, fact, f"cite one in scope {case.scope} or global"
        )
    if memory.changed_at >= case.words_at:
        fact = f"{name} was recorded or changed after the lesson"
        return _violation("cited-memory-not-older", name, fact, "cite one that was there before")
    if any(_is_own(case, hand) for hand in memory.hands):
        fact = f"{name} comes, in whole or in part, from who wrote the lesson"
        return _violation(
            "cited-memory-own-session", name, fact, "cite one that another session recorded"
        )
    return None


def _is_own(case: Case, hand: Hand) -> bool:
    """Whether a hand may be one that wrote the lesson.

    It is the same run, under whatever name; or the same actor, and a run is not known.
    """
    for own in case.hands:
        if own.session and hand.session:
            if _root(own.session) == _root(hand.session):
                return True
        elif own.actor == hand.actor:
            return True
    return False


def _root(session: str) -> str:
    """The run that all its sub-runs count as."""
    return session.partition("/")[0]


def _too_few(good: int, rules: GateRules, fact: str) -> Violation:
    return _violation(
        "missing-memory-citation",
        f"observed={good} < required={rules.citations_min}",
        fact,
        "cite another memory",
    )


def _violation(code: str, detail: str, fact: str, satisfied_by: str) -> Violation:
    return Violation(code, f"{code}: {detail}" if detail else code, fact, satisfied_by)


def _failed(name: str, code: str, detail: str, fact: str, satisfied_by: str) -> Check:
    return Check(name, fact, (_violation(code, detail, fact, satisfied_by),))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
