"""What others write about a host does not hide that the user trusts it, so trust can be ended."""

from tests.lessons.fixtures import USER, Classroom

from everloop.log.model.facts import NoteWritten


def test_a_strange_fact_about_a_host_does_not_keep_the_user_from_distrusting_it(
    room: Classroom,
) -> None:
    room.teacher.trust("b", by=USER)
    room.log.append("host:b", [NoteWritten("It is fine.")], actor="agent:b")
    assert room.teacher.distrust("b", by=USER)
    assert not room.teacher.hosts()[0].trusted
