"""The promotion gate: a pure function from a lesson's case to its violations. No I/O.

It reports every violation at once, in a fixed order, with codes and messages that hosts rely on.
No check reads what a text says: only who recorded what, when, and about which version of the text.
What is unknown counts against the lesson.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from everloop.lessons.gate.case import (
    CitedMemory,
    Contributor,
    FeedbackRecord,
    GateCase,
    LessonUse,
)
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import GateRules, strictest_rules
from everloop.memory.model.scopes import OWNER

GLOBAL_SCOPE: Final = "global"
TIME_FLOOR: Final = "time-floor"
SPECULATIVE, OBSERVED = "speculative", "observed"
_SECOND: Final = timedelta(seconds=1)
_DAY: Final = timedelta(days=1)
CHECK_TITLES: Final = {
    "standing": "Still valid",
    "age": "Minimum age",
    "uses": "Used often enough",
    "blame": "No negative feedback",
    "support": "Independent confirmation",
    "origins": "Used in several sessions",
    "narrative": "Reason explained",
    "citations": "Backed by memories",
    "verdicts": "No failed test",
}


class Violation(msgspec.Struct, frozen=True):
    """A failed requirement. Hosts get `message`; `satisfied_by` says what would fulfil it."""

    code: str
    message: str
    fact: str
    satisfied_by: str


class GateCheck(msgspec.Struct, frozen=True):
    """The result of one check: the fact that it found, and its violations, if any.

    A check that counts also has the count and the minimum; the age counts seconds, and `ready_at`
    is when the text will be old enough.
    """

    name: str
    fact: str
    violations: tuple[Violation, ...] = ()
    count: int | None = None
    required: int | None = None
    ready_at: datetime | None = None

    @property
    def title(self) -> str:
        """The requirement in words that people read, in every interface."""
        return CHECK_TITLES[self.name]

    @property
    def passed(self) -> bool:
        """Whether the check found no violation."""
        return not self.violations


def checks(case: GateCase, rules: GateRules) -> tuple[GateCheck, ...]:
    """The result of every check, passed or not, in a fixed order.

    The strictest of these rules and those of the log count.
    """
    strictest = strictest_rules(rules, case.rules)
    return tuple(check(case, strictest) for check in _CHECKS)


def violations(case: GateCase, rules: GateRules) -> tuple[Violation, ...]:
    """Every violation that blocks a promotion; empty if the lesson may be promoted."""
    return tuple(violation for check in checks(case, rules) for violation in check.violations)


def valid_citations(case: GateCase) -> tuple[CitedMemory, ...]:
    """The cited memories that pass every check."""
    return tuple(memory for memory in case.cited if _citation_violation(case, memory) is None)


def grounds(case: GateCase, rules: GateRules) -> tuple[int, ...]:
    """The facts that a promotion depends on: if one is retracted, so is the promotion."""
    strictest = strictest_rules(rules, case.rules)
    supports = _supports(case, strictest)[: strictest.supports_min]
    found = [case.position, case.words_at]
    found += [memory.position for memory in valid_citations(case)]
    found += [at for support in supports for at in support]
    found += [use.position for use in _sufficient_uses(case, strictest)]
    found += [case.told.position] if case.told else []
    return tuple(dict.fromkeys(found))


def too_new_message(age: timedelta, rules: GateRules) -> str:
    """The message for a text that is younger than the minimum age."""
    floor, age = timedelta(hours=rules.age_hours_min), max(age, timedelta())
    return f"{TIME_FLOOR}: age={age // _SECOND}s < required={floor // _SECOND}s"


# -- the checks, in their order --------------------------------------------------------------------


def _status(case: GateCase, rules: GateRules) -> GateCheck:
    del rules
    fact = f"it is {case.status}"
    if case.status is Status.SUPERSEDED:
        return _failed_check(
            "standing", "already-superseded", "", fact, "promote the lesson that replaced it"
        )
    if case.status is Status.DISCARDED:
        return _failed_check("standing", "already-discarded", "", fact, "propose it again")
    return GateCheck("standing", fact)


def _age(case: GateCase, rules: GateRules) -> GateCheck:
    # A text from another clock may be dated ahead of this one: then it has no age yet.
    age, floor = max(case.now - case.written_at, timedelta()), timedelta(hours=rules.age_hours_min)
    seconds, ready_at = age // _SECOND, case.written_at + floor
    fact = f"its words are {seconds // 360 / 10} h old"  # cut, not rounded
    found: tuple[Violation, ...] = ()
    if age < floor:
        wait = f"wait until {ready_at:%Y-%m-%d %H:%M} UTC"
        found = (Violation(TIME_FLOOR, too_new_message(age, rules), fact, wait),)
    return GateCheck("age", fact, found, seconds, floor // _SECOND, ready_at)


def _uses(case: GateCase, rules: GateRules) -> GateCheck:
    count = len(_counted_uses(case))
    fact = f"used {_times(count)} since its words were last changed"
    if count >= rules.uses_min:
        return GateCheck("uses", fact, (), count, rules.uses_min)
    detail = f"observed={count} < required={rules.uses_min}"
    lacking = _times(rules.uses_min - count)
    found = _violation("insufficient-applied-count", detail, fact, f"use it {lacking} more")
    return GateCheck("uses", fact, (found,), count, rules.uses_min)


def _blame(case: GateCase, rules: GateRules) -> GateCheck:
    del rules
    count = sum(not heard.helpful for heard in case.heard)
    fact = f"{count} thumbs-down"
    if not count:
        return GateCheck("blame", fact)
    return _failed_check(
        "blame", "thumbs-down-block", f"count={count}", fact, "ask the user to withdraw it"
    )


def _support(case: GateCase, rules: GateRules) -> GateCheck:
    count = len(_supports(case, rules))
    fact = f"{count} supporting {'signal' if count == 1 else 'signals'} from outside"
    if count >= rules.supports_min:
        return GateCheck("support", fact)
    remedy = "let the user praise it, or a runner outside the agent try it"
    if _has_user_text(case):
        remedy = "let a runner outside the agent try it; praise of one's own text is no support"
    elif _relayed_praise(case):
        remedy = "let the user look at it and activate it; or wait: a host's word is for one a day"
    return _failed_check("support", "missing-external-signal-sources", "", fact, remedy)


def _origin_count(case: GateCase, rules: GateRules) -> GateCheck:
    count = len(_origins(_counted_uses(case)))
    fact = f"used in {count} different {'session' if count == 1 else 'sessions'}"
    if count >= rules.origins_min:
        return GateCheck("origins", fact)
    return _failed_check(
        "origins",
        "insufficient-origin-diversity",
        f"distinct_sessions={count} < required={rules.origins_min}",
        fact,
        "use it in another session, not one that this one started",
    )


def _narrative(case: GateCase, rules: GateRules) -> GateCheck:
    del rules
    told = case.told
    if told is None or told.digest != case.digest:
        return _failed_check(
            "narrative",
            "missing-causal-narrative",
            "",
            "its current text has no narrative",
            "write a narrative: the trigger, the failure and the correction",
        )
    fact = f"its narrative is {told.confidence}"
    if told.confidence == SPECULATIVE:
        return _failed_check(
            "narrative", "speculative-narrative", "", fact, "describe a failure that was observed"
        )
    if told.confidence == OBSERVED and not told.evidenced:
        return _failed_check(
            "narrative",
            "observed-confidence-without-evidence-refs",
            "",
            fact,
            "cite a memory, or quote one word for word",
        )
    return GateCheck("narrative", fact)


def _citations(case: GateCase, rules: GateRules) -> GateCheck:
    good = len(valid_citations(case))
    fact = f"stands on {good} of {len(case.cited)} cited memories"
    if not case.cited:
        return _failed_check(
            "citations",
            "missing-memory-citation",
            "",
            fact,
            "cite a memory that is older than the lesson and from another session",
        )
    if good >= rules.citations_min:
        return GateCheck("citations", fact)
    faults = [_citation_violation(case, memory) for memory in case.cited]
    found = tuple(fault for fault in faults if fault is not None)
    return GateCheck("citations", fact, found or (_too_few_citations(good, rules, fact),))


def _verdict(case: GateCase, rules: GateRules) -> GateCheck:
    del rules
    verdicts = [tried for tried in case.tried if tried.outside and tried.digest == case.digest]
    if not verdicts:
        return GateCheck("verdicts", "no runner outside the agent tried these words")
    newest = max(verdicts, key=lambda tried: tried.position)
    fact = f"the last verdict from outside {'passed' if newest.passed else 'failed'}"
    if newest.passed:
        return GateCheck("verdicts", fact)
    return _failed_check(
        "verdicts", "failed-verdict", "", fact, "fix it, and let the runner try it again"
    )


_CHECKS: Final[tuple[Callable[[GateCase, GateRules], GateCheck], ...]] = (
    _status,
    _age,
    _uses,
    _blame,
    _support,
    _origin_count,
    _narrative,
    _citations,
    _verdict,
)


# -- what counts -----------------------------------------------------------------------------------


def _counted_uses(case: GateCase) -> list[LessonUse]:
    """The uses of the current text."""
    return [use for use in case.uses if use.digest == case.digest]


def _origins(uses: Iterable[LessonUse]) -> set[str]:
    """The sessions that uses came from. A sub-session counts as the one that started it."""
    return {_root_session(use.session) for use in uses} - {""}


def _sufficient_uses(case: GateCase, rules: GateRules) -> list[LessonUse]:
    """The first uses that meet both minimums: the count, and the different sessions."""
    counted = _counted_uses(case)
    first = {_root_session(use.session): use for use in reversed(counted) if use.session}
    chosen = sorted(first.values(), key=lambda use: use.position)[: rules.origins_min]
    others = [use for use in counted if use not in chosen]
    return chosen + others[: max(0, rules.uses_min - len(chosen))]


def _has_user_text(case: GateCase) -> bool:
    """Whether the user wrote any version of the text."""
    return any(hand.actor == OWNER for hand in case.hands)


def _supports(case: GateCase, rules: GateRules) -> list[tuple[int, ...]]:
    """The outside support for the current text, each with the positions it depends on.

    That is a passed verdict from outside, or praise by the user, unless the user wrote the text.
    Praise that a model inferred from a message does not count: the model has read the lesson, and
    may have written it.
    """
    passed: list[tuple[int, ...]] = [
        (tried.position,)
        for tried in case.tried
        if tried.outside and tried.passed and tried.digest == case.digest
    ]
    if _has_user_text(case):
        return passed
    direct = [(heard.position,) for heard in _praise(case) if heard.actor == OWNER]
    relayed = [
        (heard.position, heard.trusted_at, heard.heard_at)
        for heard in _relayed_praise(case)
        if _may_promote_today(case, rules, heard.actor)
    ]
    return [*passed, *direct, *relayed]


def _praise(case: GateCase) -> list[FeedbackRecord]:
    """The praise of the current text that no model inferred."""
    return [
        heard
        for heard in case.heard
        if heard.helpful and not heard.guessed and heard.digest == case.digest
    ]


def _relayed_praise(case: GateCase) -> list[FeedbackRecord]:
    """The praise that a trusted host relays, in words that a door heard the user say.

    Not if the same session wrote the lesson.
    """
    return [
        heard
        for heard in _praise(case)
        if heard.trusted_at
        and heard.heard_at
        and not _is_author(case, Contributor(heard.actor, heard.session))
    ]


def _may_promote_today(case: GateCase, rules: GateRules, actor: str) -> bool:
    """Whether a host's relayed praise may promote one more lesson now.

    What the user looked at may always be promoted, and what is promoted already stays so.
    """
    if case.looked or case.status is Status.PROMOTED:
        return True
    since = case.now - _DAY
    recent = [made for made in case.relayed if made.actor == actor and made.at > since]
    return len(recent) < rules.relayed_per_day_max


def _citation_violation(case: GateCase, memory: CitedMemory) -> Violation | None:
    """The first violation of a cited memory; None if it passes every check."""
    name = repr(memory.item_id)
    hidden = memory.restricted or memory.scope not in (case.scope, GLOBAL_SCOPE)
    if not memory.position or hidden:  # one answer: another would tell what is in other scopes
        fact = f"there is no memory {name} in scope {case.scope} or global"
        return _violation("cited-memory-not-found", name, fact, "cite one that exists there")
    if memory.retired:
        fact = f"{name} was retired"
        return _violation("cited-memory-retired", name, fact, "cite one that is not retired")
    if memory.changed_at >= case.words_at:
        fact = f"{name} was recorded or changed after the lesson"
        return _violation("cited-memory-not-older", name, fact, "cite one that is older")
    if any(_is_author(case, hand) for hand in memory.hands if hand.actor != OWNER):
        fact = f"{name} was written, in whole or in part, by the author of the lesson"
        return _violation(
            "cited-memory-own-session", name, fact, "cite one that another session recorded"
        )
    return None


def _is_author(case: GateCase, hand: Contributor) -> bool:
    """Whether an agent may be an author of the lesson.

    What the user said is the user's, whatever the session, so nobody asks this of the user. It
    is: the same session, under any actor; or the same actor, if a session is unknown.
    """
    for own in case.hands:
        if own.session and hand.session:
            if _root_session(own.session) == _root_session(hand.session):
                return True
        elif own.actor == hand.actor:
            return True
    return False


def _root_session(session: str) -> str:
    """The session that started a sub-session, or the session itself."""
    return session.partition("/")[0]


def _too_few_citations(good: int, rules: GateRules, fact: str) -> Violation:
    return _violation(
        "missing-memory-citation",
        f"observed={good} < required={rules.citations_min}",
        fact,
        "cite another memory",
    )


def _violation(code: str, detail: str, fact: str, satisfied_by: str) -> Violation:
    return Violation(code, f"{code}: {detail}" if detail else code, fact, satisfied_by)


def _failed_check(name: str, code: str, detail: str, fact: str, satisfied_by: str) -> GateCheck:
    return GateCheck(name, fact, (_violation(code, detail, fact, satisfied_by),))


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
