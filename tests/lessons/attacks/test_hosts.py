"""Facts about a host by other actors do not prevent revoking its trust."""

from tests.lessons.fixtures import USER, LessonHarness

from everloop.log.model.facts import NoteWritten


def test_an_unexpected_fact_about_a_host_does_not_prevent_distrusting_it(
    harness: LessonHarness,
) -> None:
    harness.lessons.trust("b", by=USER)
    harness.log.append("host:b", [NoteWritten("It is fine.")], actor="agent:b")
    assert harness.lessons.distrust("b", by=USER)
    assert not harness.lessons.hosts()[0].trusted
