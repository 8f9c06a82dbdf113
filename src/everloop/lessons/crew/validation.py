"""Validation of skills, personas and teams, with hints on how to fix each field. Pure."""

import re
from typing import Final

from everloop.errors import Invalid
from everloop.lessons.crew.events import (
    HookGroup,
    Member,
    Persona,
    Profile,
    Skill,
    SkillFile,
    Sort,
    Team,
)

NAME_MAX: Final = 64
DESCRIPTION_MAX: Final = 1_024
SKILL_TYPES: Final = ("generative", "analytical")
SKILL_CONTEXTS: Final = ("inherit", "fork")
ACTIVATIONS: Final = ("auto", "path-triggered", "user-triggered")
HOOK_TYPES: Final = ("command", "http", "mcp_tool", "prompt", "agent")
SKILL_FILE: Final = "SKILL.md"
PROFILE_SORTS: Final[dict[type, Sort]] = {Skill: "skill", Persona: "persona", Team: "team"}

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MEMBER = re.compile(r"[^\s:]+")


def check_name(name: str) -> str:
    """The name, if it is valid.

    Raises:
        Invalid: it is not.
    """
    if len(name) > NAME_MAX or not _NAME.fullmatch(name):
        raise Invalid(
            f"{name!r} is not a name of at most {NAME_MAX} characters",
            hint="Use lower-case letters, digits and single hyphens: release-notes.",
        )
    return name


def check_profile(sort: Sort, profile: Profile) -> None:
    """Check every field of a profile.

    Raises:
        Invalid: a field is not valid; the message names it.
    """
    if PROFILE_SORTS[type(profile)] != sort:
        raise Invalid(f"a {sort} cannot have the fields of a {PROFILE_SORTS[type(profile)]}")
    if not profile.description.strip():
        raise Invalid("the description is empty", hint="Describe in a sentence what it is for.")
    if len(profile.description) > DESCRIPTION_MAX:
        raise Invalid(
            f"the description has {len(profile.description):,} characters, and"
            f" {DESCRIPTION_MAX:,} are allowed",
            hint="Put the rest into the body.",
        )
    if isinstance(profile, Skill):
        _check_skill(profile)
    elif not profile.title.strip():
        raise Invalid("the title is empty", hint="Give it a title.")
    if isinstance(profile, Team):
        _check_members(profile.members)


def parse_member(text: str) -> Member:
    """Parse a member: `persona:ada`, `skill:deploy`, `user:ben`, or `ben` for a user.

    Raises:
        Invalid: it is none of these.
    """
    before, colon, after = text.partition(":")
    sort, name = (before, after) if colon else ("user", before)
    if not _MEMBER.fullmatch(name) or len(name) > NAME_MAX:
        raise Invalid(
            f"{text!r} is not a team member", hint="Write persona:NAME, skill:NAME or a user."
        )
    match sort:
        case "persona" | "skill" | "user":
            return Member(sort, name)
        case _:
            raise Invalid(
                f"{text!r} is not a team member", hint="Write persona:NAME, skill:NAME or a user."
            )


def _check_skill(skill: Skill) -> None:
    _check_one_of("type", skill.type, SKILL_TYPES)
    _check_one_of("context", skill.context, SKILL_CONTEXTS)
    _check_one_of("activation", skill.activation, ACTIVATIONS)
    if skill.activation == "path-triggered" and not skill.paths:
        raise Invalid("a path-triggered skill has no paths", hint="Name at least one in `paths`.")
    for event_name, groups in skill.hooks.items():
        _check_hook(event_name, groups)
    seen: set[str] = set()
    for file in skill.files:
        _check_file(file, seen)


def _check_hook(event_name: str, groups: tuple[HookGroup, ...]) -> None:
    if not event_name.strip():
        raise Invalid("a hook has no event", hint="Name its event: PreToolUse, Stop, …")
    for handler in (handler for group in groups for handler in group.handlers):
        _check_one_of(f"handler of {event_name}", handler.type, HOOK_TYPES)
        if handler.timeout_s < 0:
            raise Invalid(
                f"a handler of {event_name} has a negative timeout",
                hint="Use zero or more seconds.",
            )


def _check_file(file: SkillFile, seen: set[str]) -> None:
    """Check that a file's path stays inside the skill's folder, and occurs once."""
    parts = file.path.split("/")
    plain = file.path.isprintable() and not any(sign in file.path for sign in '\\:*?"<>|')
    if not plain or any(part == "" or part.startswith(".") for part in parts):
        raise Invalid(
            f"{file.path!r} is not a path inside a skill",
            hint="Use a relative path, such as scripts/check.sh.",
        )
    if file.path.casefold() in seen | {SKILL_FILE.casefold()}:
        raise Invalid(f"{file.path!r} occurs twice", hint="Keep one of them.")
    seen.add(file.path.casefold())


def _check_members(members: tuple[Member, ...]) -> None:
    for member in members:
        parse_member(f"{member.sort}:{member.id}")
    if len(set(members)) < len(members):
        raise Invalid("a member is in the team twice", hint="Name each one once.")


def _check_one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise Invalid(f"{field} {value!r} is not supported", hint=f"Use {', '.join(allowed)}.")
