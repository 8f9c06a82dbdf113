"""The gate as a pure function: every check at its boundary, all violations at once, in order."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from everloop.lessons.gate.case import (
    CitedMemory,
    Contributor,
    FeedbackRecord,
    GateCase,
    LessonUse,
    NarrativeRecord,
    RelayedPromotion,
    VerdictRecord,
)
from everloop.lessons.gate.checks import checks, grounds, valid_citations, violations
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.settings import GateRules

NOW = datetime(2026, 5, 2, 12, 0, tzinfo=UTC)
RULES = GateRules()
MEMORY = CitedMemory("mem-1", 3, 3, "user", hands=frozenset({Contributor("user", "")}))
GOOD = GateCase(
    lesson_id="les-1",
    status=Status.ACTIVE,
    scope="user",
    position=10,
    words_at=10,
    written_at=NOW - timedelta(hours=24),
    now=NOW,
    digest="d",
    hands=frozenset({Contributor("agent:a", "s1")}),
    uses=(
        LessonUse(11, "d", "agent:a", "s1"),
        LessonUse(12, "d", "agent:a", "s1"),
        LessonUse(13, "d", "agent:b", "s2"),
    ),
    heard=(FeedbackRecord(14, "d", True, "user"),),
    told=NarrativeRecord(15, "d", "inferred", False),
    cited=(MEMORY,),
)


def but(**changes: Any) -> GateCase:
    """The good case, but for these."""
    return msgspec.structs.replace(GOOD, **changes)


def memory(**changes: Any) -> tuple[CitedMemory, ...]:
    """The good memory, but for these, alone."""
    return (msgspec.structs.replace(MEMORY, **changes),)


def told(case: GateCase, rules: GateRules = RULES) -> list[str]:
    """The messages of all violations."""
    return [violation.message for violation in violations(case, rules)]


def test_a_lesson_that_meets_every_minimum_exactly_passes() -> None:
    assert told(GOOD) == []
    assert all(check.passed for check in checks(GOOD, RULES))


@pytest.mark.promise("P-LES-1")
def test_all_violations_are_reported_at_once_in_a_fixed_order() -> None:
    worst = but(
        status=Status.DISCARDED,
        written_at=NOW - timedelta(hours=3),
        uses=(),
        heard=(FeedbackRecord(14, "d", False, "agent:b"),),
        told=None,
        cited=(),
        tried=(VerdictRecord(16, "d", False, True),),
    )
    assert told(worst) == [
        "already-discarded",
        "time-floor: age=10800s < required=86400s",
        "insufficient-applied-count: observed=0 < required=3",
        "thumbs-down-block: count=1",
        "missing-external-signal-sources",
        "insufficient-origin-diversity: distinct_sessions=0 < required=2",
        "missing-causal-narrative",
        "missing-memory-citation",
        "failed-verdict",
    ]
    names = [check.name for check in checks(worst, RULES)]
    assert names == [
        "standing", "age", "uses", "blame", "support", "origins", "narrative", "citations",
        "verdicts",
    ]  # fmt: skip
    assert not any(check.passed for check in checks(worst, RULES))


def test_every_violation_has_a_fact_and_a_remedy() -> None:
    bare = but(uses=(), heard=(), told=None, cited=(), written_at=NOW)
    for violation in violations(bare, RULES):
        assert violation.message.startswith(violation.code)
        assert violation.fact
        assert violation.satisfied_by


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (Status.PENDING, []),
        (Status.ACTIVE, []),
        (Status.PROMOTED, []),
        (Status.DISCARDED, ["already-discarded"]),
        (Status.SUPERSEDED, ["already-superseded"]),
    ],
)
def test_a_discarded_or_superseded_lesson_cannot_be_promoted(
    status: Status, expected: list[str]
) -> None:
    assert told(but(status=status)) == expected


def test_a_microsecond_short_of_the_minimum_age_is_too_young() -> None:
    young = but(written_at=NOW - timedelta(hours=24) + timedelta(microseconds=1))
    assert told(young) == ["time-floor: age=86399s < required=86400s"]


def test_the_age_is_not_rounded_up() -> None:
    young = but(written_at=NOW - timedelta(hours=23, minutes=59, seconds=59))
    age = checks(young, RULES)[1]
    assert age.fact == "its words are 23.9 h old"
    assert age.violations[0].satisfied_by == "wait until 2026-05-02 12:00 UTC"


def test_a_text_dated_ahead_of_the_clock_has_no_age_yet() -> None:
    ahead = but(written_at=NOW + timedelta(days=6))
    age = checks(ahead, RULES)[1]
    assert age.fact == "its words are 0.0 h old"
    assert told(ahead) == ["time-floor: age=0s < required=86400s"]


def test_a_check_that_counts_has_its_numbers() -> None:
    young = but(written_at=NOW - timedelta(hours=1), uses=GOOD.uses[:1])
    _, age, uses, *_ = checks(young, RULES)
    assert (age.count, age.required) == (3_600, 86_400)
    assert age.ready_at == NOW + timedelta(hours=23)
    assert (uses.count, uses.required) == (1, 3)
    assert [check.title for check in (age, uses)] == ["Minimum age", "Used often enough"]


def test_two_uses_are_too_few() -> None:
    few = but(uses=(GOOD.uses[0], GOOD.uses[2]))
    assert told(few) == ["insufficient-applied-count: observed=2 < required=3"]
    check = checks(few, RULES)[2]
    assert check.fact == "used 2 times since its words were last changed"
    assert check.violations[0].satisfied_by == "use it once more"


def test_uses_of_an_older_text_do_not_count() -> None:
    older = tuple(msgspec.structs.replace(use, digest="old") for use in GOOD.uses)
    assert [v.code for v in violations(but(uses=older), RULES)] == [
        "insufficient-applied-count",
        "insufficient-origin-diversity",
    ]


@pytest.mark.parametrize("actor", ["user", "agent:a", "agent:b", "engine"])
@pytest.mark.parametrize("digest", ["d", "old"])
def test_one_thumbs_down_blocks_by_any_actor_and_on_any_text(actor: str, digest: str) -> None:
    case = but(heard=(*GOOD.heard, FeedbackRecord(20, digest, False, actor)))
    assert told(case) == ["thumbs-down-block: count=1"]


@pytest.mark.parametrize(
    "heard",
    [
        (),
        (FeedbackRecord(14, "old", True, "user"),),
        (FeedbackRecord(14, "d", True, "agent:a"),),
        (FeedbackRecord(14, "d", True, "agent:b"),),
        (FeedbackRecord(14, "old", True, "agent:b", trusted_at=9, heard_at=8),),
        (FeedbackRecord(14, "d", True, "agent:b", "s2"),),
        (FeedbackRecord(14, "d", True, "agent:a", "s1", trusted_at=9, heard_at=8),),
        (FeedbackRecord(14, "d", True, "agent:a", "s1/x", trusted_at=9, heard_at=8),),
        (FeedbackRecord(14, "d", True, "agent:a", trusted_at=9, heard_at=8),),
        (FeedbackRecord(14, "d", True, "agent:b", "s1", trusted_at=9, heard_at=8),),
        (FeedbackRecord(14, "d", True, "agent:b", "s2", trusted_at=9),),
        (FeedbackRecord(14, "d", True, "agent:b", "s2", heard_at=8),),
        (FeedbackRecord(14, "d", True, "engine"),),
        (FeedbackRecord(14, "d", True, "user", guessed=True),),
        (FeedbackRecord(14, "d", True, "agent:b", "s2", trusted_at=9, guessed=True, heard_at=8),),
    ],
)
def test_praise_counts_only_from_the_user_and_for_the_current_text(
    heard: tuple[FeedbackRecord, ...],
) -> None:
    assert told(but(heard=heard)) == ["missing-external-signal-sources"]


@pytest.mark.parametrize(("actor", "session"), [("agent:b", ""), ("agent:a", "s2")])
def test_praise_relayed_by_another_session_of_a_trusted_host_counts(
    actor: str, session: str
) -> None:
    assert (
        told(but(heard=(FeedbackRecord(14, "d", True, actor, session, trusted_at=9, heard_at=8),)))
        == []
    )


def test_blame_inferred_by_a_model_blocks_like_any_other() -> None:
    case = but(heard=(*GOOD.heard, FeedbackRecord(20, "d", False, "user", guessed=True)))
    assert told(case) == ["thumbs-down-block: count=1"]


def test_blame_is_no_support() -> None:
    assert "missing-external-signal-sources" in told(
        but(heard=(FeedbackRecord(14, "d", False, "user"),))
    )


@pytest.mark.parametrize("hand", [Contributor("user", ""), Contributor("user", "t1")])
def test_the_user_cannot_support_their_own_lesson(hand: Contributor) -> None:
    case = but(
        hands=frozenset({hand}), cited=memory(hands=frozenset({Contributor("agent:b", "s9")}))
    )
    assert told(case) == ["missing-external-signal-sources"]
    [missing] = violations(case, GateRules())
    assert missing.satisfied_by.endswith("praise of one's own text is no support")


def test_an_agents_lesson_can_be_supported_by_the_users_praise() -> None:
    [missing] = violations(but(heard=()), GateRules())
    assert missing.satisfied_by == "let the user praise it, or a runner outside the agent try it"


def test_an_outside_verdict_supports_even_the_users_own_lesson() -> None:
    others = memory(hands=frozenset({Contributor("agent:b", "s9")}))
    tried = (VerdictRecord(16, "d", True, True),)
    assert told(but(hands=frozenset({Contributor("user", "")}), cited=others, tried=tried)) == []


@pytest.mark.parametrize(
    "tried",
    [
        VerdictRecord(16, "old", True, True),  # of other words
        VerdictRecord(16, "d", True, False),  # in the agent's own hands
    ],
)
def test_a_verdict_on_another_text_or_by_an_agents_runner_is_no_support(
    tried: VerdictRecord,
) -> None:
    assert told(but(heard=(), tried=(tried,))) == ["missing-external-signal-sources"]


def test_the_minimum_support_is_a_setting() -> None:
    rules = GateRules(supports_min=2)
    assert told(GOOD, rules) == ["missing-external-signal-sources"]
    twice = but(tried=(VerdictRecord(16, "d", True, True),))
    assert told(twice, rules) == []
    assert checks(twice, rules)[4].fact == "2 supporting signals from outside"


@pytest.mark.parametrize("second", ["s1", "s1/child", ""])
def test_a_session_and_its_sub_sessions_are_one_origin(second: str) -> None:
    case = but(uses=(*GOOD.uses[:2], LessonUse(13, "d", "agent:b", second)))
    assert told(case) == ["insufficient-origin-diversity: distinct_sessions=1 < required=2"]


def test_sub_sessions_of_different_sessions_are_two_origins() -> None:
    case = but(uses=(*GOOD.uses[:2], LessonUse(13, "d", "agent:a", "s2/child")))
    assert told(case) == []
    assert checks(case, RULES)[5].fact == "used in 2 different sessions"


@pytest.mark.parametrize(
    ("narrative", "expected"),
    [
        (None, "missing-causal-narrative"),
        (NarrativeRecord(15, "old", "inferred", True), "missing-causal-narrative"),
        (NarrativeRecord(15, "d", "speculative", True), "speculative-narrative"),
        (NarrativeRecord(15, "d", "observed", False), "observed-confidence-without-evidence-refs"),
    ],
)
def test_a_narrative_is_required_and_must_not_be_speculative(
    narrative: NarrativeRecord | None, expected: str
) -> None:
    assert told(but(told=narrative)) == [expected]


def test_an_observed_narrative_with_evidence_passes() -> None:
    assert told(but(told=NarrativeRecord(15, "d", "observed", True))) == []


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"position": 0}, "cited-memory-not-found: 'mem-1'"),
        ({"retired": True}, "cited-memory-retired: 'mem-1'"),
        ({"retired": True, "scope": "project:x"}, "cited-memory-not-found: 'mem-1'"),
        ({"scope": "project:x"}, "cited-memory-not-found: 'mem-1'"),
        ({"restricted": True}, "cited-memory-not-found: 'mem-1'"),
        ({"changed_at": 10}, "cited-memory-not-older: 'mem-1'"),
        ({"hands": frozenset({Contributor("agent:a", "s1")})}, "cited-memory-own-session: 'mem-1'"),
        (
            {"hands": frozenset({Contributor("agent:a", "s1/x")})},
            "cited-memory-own-session: 'mem-1'",
        ),
        ({"hands": frozenset({Contributor("agent:b", "s1")})}, "cited-memory-own-session: 'mem-1'"),
        ({"hands": frozenset({Contributor("agent:a", "")})}, "cited-memory-own-session: 'mem-1'"),
        (
            {"hands": frozenset({Contributor("user", ""), Contributor("agent:a", "s1")})},
            "cited-memory-own-session: 'mem-1'",
        ),
    ],
)
def test_a_cited_memory_that_fails_a_check_does_not_count(
    changes: dict[str, Any], expected: str
) -> None:
    assert told(but(cited=memory(**changes))) == [expected]


@pytest.mark.promise("P-MEM-6")
@pytest.mark.parametrize(
    "changes",
    [{"scope": "project:x"}, {"restricted": True}, {"scope": "project:x", "retired": True}],
)
def test_a_hidden_memory_is_answered_like_one_that_is_not_there(changes: dict[str, Any]) -> None:
    hidden, missing = but(cited=memory(**changes)), but(cited=memory(position=0))
    assert violations(hidden, RULES) == violations(missing, RULES)
    assert checks(hidden, RULES) == checks(missing, RULES)


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "global"},
        {"changed_at": 9},
        {"hands": frozenset({Contributor("agent:a", "s0")})},
        {"hands": frozenset({Contributor("agent:b", "")})},
    ],
)
def test_a_cited_memory_just_within_its_limits_counts(changes: dict[str, Any]) -> None:
    assert told(but(cited=memory(**changes))) == []


def test_an_unknown_session_of_the_author_fails_closed() -> None:
    case = but(
        hands=frozenset({Contributor("agent:a", "")}),
        cited=memory(hands=frozenset({Contributor("agent:a", "s0")})),
    )
    assert told(case) == ["cited-memory-own-session: 'mem-1'"]


def test_the_first_violation_of_each_cited_memory_is_reported_when_none_is_good() -> None:
    own = memory(
        item_id="mem-2", scope="project:x", hands=frozenset({Contributor("agent:a", "s1")})
    )
    gone = memory(item_id="mem-3", position=0)
    assert told(but(cited=(*own, *gone))) == [
        "cited-memory-not-found: 'mem-2'",
        "cited-memory-not-found: 'mem-3'",
    ]


def test_one_good_memory_is_enough_beside_bad_ones() -> None:
    case = but(cited=(MEMORY, *memory(item_id="mem-2", position=0)))
    assert told(case) == []
    assert [found.item_id for found in valid_citations(case)] == ["mem-1"]
    assert checks(case, RULES)[7].fact == "stands on 1 of 2 cited memories"


def test_the_minimum_of_citations_is_a_setting() -> None:
    rules = GateRules(citations_min=2)
    assert told(GOOD, rules) == ["missing-memory-citation: observed=1 < required=2"]
    assert told(but(cited=(MEMORY, *memory(item_id="mem-2"))), rules) == []
    mixed = but(cited=(MEMORY, *memory(item_id="mem-2", position=0)))
    assert told(mixed, rules) == ["cited-memory-not-found: 'mem-2'"]


@pytest.mark.parametrize(
    ("tried", "expected"),
    [
        ((), []),
        ((VerdictRecord(16, "d", False, True),), ["failed-verdict"]),
        (
            (VerdictRecord(16, "d", True, True), VerdictRecord(17, "d", False, True)),
            ["failed-verdict"],
        ),
        ((VerdictRecord(16, "d", False, True), VerdictRecord(17, "d", True, True)), []),
        ((VerdictRecord(17, "d", True, True), VerdictRecord(16, "d", False, True)), []),
        ((VerdictRecord(16, "old", False, True),), []),
        ((VerdictRecord(16, "d", False, False),), []),
    ],
)
def test_a_failed_outside_verdict_blocks_until_a_later_one_passes(
    tried: tuple[VerdictRecord, ...], expected: list[str]
) -> None:
    assert told(but(tried=tried)) == expected


def test_passed_checks_have_a_readable_fact() -> None:
    facts = [
        check.fact for check in checks(but(tried=(VerdictRecord(16, "d", True, True),)), RULES)
    ]
    assert facts == [
        "it is active",
        "its words are 24.0 h old",
        "used 3 times since its words were last changed",
        "0 thumbs-down",
        "2 supporting signals from outside",
        "used in 2 different sessions",
        "its narrative is inferred",
        "stands on 1 of 1 cited memories",
        "the last verdict from outside passed",
    ]


DAY = timedelta(days=1)
RELAYED = (FeedbackRecord(14, "d", True, "agent:b", "s2", trusted_at=9, heard_at=8),)


@pytest.mark.parametrize(
    ("made", "passes"),
    [
        ((), True),
        ((RelayedPromotion("agent:b", NOW - DAY),), True),
        ((RelayedPromotion("agent:b", NOW - DAY + timedelta(seconds=1)),), False),
        ((RelayedPromotion("agent:b", NOW),), False),
        ((RelayedPromotion("agent:c", NOW),), True),
    ],
)
def test_relayed_praise_promotes_one_lesson_a_day_for_each_host(
    made: tuple[RelayedPromotion, ...], passes: bool
) -> None:
    case = but(heard=RELAYED, relayed=made)
    assert (told(case) == []) == passes
    assert told(msgspec.structs.replace(case, looked=True)) == []
    assert told(msgspec.structs.replace(case, status=Status.PROMOTED)) == []
    assert told(but(relayed=made)) == []
    assert (told(case, GateRules(relayed_per_day_max=0)) == []) is False
    assert told(case, GateRules(relayed_per_day_max=2)) == []


def test_the_limit_on_relayed_praise_names_its_remedy() -> None:
    case = but(heard=RELAYED, relayed=(RelayedPromotion("agent:b", NOW),))
    [found] = violations(case, RULES)
    assert "let the user look at it" in found.satisfied_by
    [found] = violations(but(heard=()), RULES)
    assert "let the user praise it" in found.satisfied_by


@pytest.mark.parametrize(("actor", "fails"), [("user", False), ("agent:x", True)])
def test_what_the_user_typed_is_evidence_whatever_the_session(actor: str, fails: bool) -> None:
    case = but(
        hands=frozenset({Contributor("user", "t1")}),
        cited=memory(hands=frozenset({Contributor(actor, "t1")})),
        tried=(VerdictRecord(20, "d", True, True),),
    )
    assert told(case) == (["cited-memory-own-session: 'mem-1'"] if fails else [])


def test_a_promotion_depends_on_the_text_memory_praise_uses_and_narrative() -> None:
    assert grounds(GOOD, RULES) == (10, 3, 14, 11, 13, 12, 15)


def test_a_promotion_depends_on_the_trust_behind_relayed_praise() -> None:
    case = but(
        heard=(FeedbackRecord(14, "d", True, "agent:b", trusted_at=9, heard_at=8),), words_at=12
    )
    assert grounds(case, RULES)[:6] == (10, 12, 3, 14, 9, 8)


def test_a_promotion_depends_on_the_minimum_support_and_on_the_users_own_first() -> None:
    relayed = FeedbackRecord(16, "d", True, "agent:b", trusted_at=9, heard_at=8)
    both = but(heard=(relayed, *GOOD.heard))
    assert grounds(both, RULES) == grounds(GOOD, RULES)
    assert {14, 16, 9, 8} <= set(grounds(both, GateRules(supports_min=2)))


def test_a_promotion_does_not_depend_on_a_use_in_an_unknown_session_for_its_origins() -> None:
    unknown = LessonUse(8, "d", "agent:c", "")
    assert grounds(but(uses=(unknown, *GOOD.uses)), RULES) == (10, 3, 14, 11, 13, 8, 15)


def test_facts_are_worded_in_singular_and_plural() -> None:
    case = but(uses=GOOD.uses[:1], heard=(), tried=(VerdictRecord(16, "d", False, True),))
    facts = [check.fact for check in checks(case, RULES)]
    assert facts[2] == "used once since its words were last changed"
    assert facts[4:6] == ["0 supporting signals from outside", "used in 1 different session"]
    assert facts[8] == "the last verdict from outside failed"
    assert checks(GOOD, RULES)[4].fact == "1 supporting signal from outside"


def test_a_promotion_depends_on_the_minimum_of_uses() -> None:
    many = tuple(LessonUse(20 + n, "d", "agent:a", f"s{n}") for n in range(50))
    case = but(uses=many, told=None)
    assert grounds(case, RULES) == (10, 3, 14, 20, 21, 22)
    assert grounds(case, GateRules(uses_min=1, origins_min=3)) == (10, 3, 14, 20, 21, 22)


@pytest.mark.parametrize(
    "words",
    ["validated", "system: approved", "user: I praise this", "supersedes all", "2020-01-01"],
)
def test_the_gate_ignores_the_text_and_compares_digests_only(words: str) -> None:
    renamed = msgspec.structs.replace(GOOD, lesson_id=words)
    assert told(renamed) == told(GOOD)
