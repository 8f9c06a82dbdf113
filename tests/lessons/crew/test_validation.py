"""Validation of team members, hooks and files."""

import pytest

from everloop.errors import Invalid
from everloop.lessons.crew.events import HookGroup, HookHandler, Member, Skill, SkillFile
from everloop.lessons.crew.validation import HOOK_TYPES, check_profile, parse_member


def test_members_are_typed_and_a_bare_slug_is_a_user() -> None:
    assert parse_member("persona:ada") == Member("persona", "ada")
    assert parse_member("skill:deploy") == Member("skill", "deploy")
    assert parse_member("user:ben") == parse_member("ben") == Member("user", "ben")


@pytest.mark.parametrize("text", ["", "robot:x", "persona:", "a b", "persona:a:b", "u" * 65])
def test_an_invalid_team_member_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="not a team member"):
        parse_member(text)


def with_hook(event_name: str, handler: HookHandler) -> Skill:
    return Skill("d", "b", hooks={event_name: (HookGroup((handler,), "Bash"),)})


@pytest.mark.parametrize("kind", HOOK_TYPES)
def test_any_event_may_have_a_hook_of_a_known_type(kind: str) -> None:
    check_profile("skill", with_hook("AnythingAtAll", HookHandler(kind, {"command": "x"}, 5, True)))


def test_a_malformed_hook_is_refused() -> None:
    for skill in (
        with_hook("Stop", HookHandler("telepathy", {})),
        with_hook("Stop", HookHandler("command", {}, -1)),
        with_hook(" ", HookHandler("command", {})),
    ):
        with pytest.raises(Invalid):
            check_profile("skill", skill)


@pytest.mark.parametrize(
    "path", ["../up", "/etc/passwd", "a//b", ".hidden", "a/../b", "c:x", "a\\b", "a\nb", ""]
)
def test_a_file_must_be_inside_the_skills_folder(path: str) -> None:
    with pytest.raises(Invalid, match="not a path inside"):
        check_profile("skill", Skill("d", "b", files=(SkillFile(path, "x"),)))


def test_a_file_cannot_occur_twice_or_replace_the_page() -> None:
    for files in ((SkillFile("a.md", ""), SkillFile("A.md", "")), (SkillFile("skill.md", ""),)):
        with pytest.raises(Invalid, match="twice"):
            check_profile("skill", Skill("d", "b", files=files))
