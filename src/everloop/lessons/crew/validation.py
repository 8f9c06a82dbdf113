"""The form of an entry: what each field may hold, and how to mend what it may not. Pure."""

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
TYPES: Final = ("generative", "analytical")
CONTEXTS: Final = ("inherit", "fork")
ACTIVATIONS: Final = ("auto", "path-triggered", "user-triggered")
HANDLERS: Final = ("command", "http", "mcp_tool", "prompt", "agent")
PAGE: Final = "SKILL.md"
SORTS: Final[dict[type, Sort]] = {Skill: "skill", Persona: "persona", Team: "team"}

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MEMBER = re.compile(r"[^\s:]+")


def check_name(name: str) -> str:
    """The name, if it is one.

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
    """Make sure that a profile says what it may say.

    Raises:
        Invalid: it does not; the message names the field.
    """
    if SORTS[type(profile)] != sort:
        raise Invalid(f"a {sort} cannot have the fields of a {SORTS[type(profile)]}")
    if not profile.description.strip():
        raise Invalid("the description is empty", hint="Say in a sentence what it is for.")
    if len(profile.description) > DESCRIPTION_MAX:
        raise Invalid(
            f"the description has {len(profile.description):,} characters, and"
            f" {DESCRIPTION_MAX:,} are allowed",
            hint="Put the rest into the body.",
        )
    if isinstance(profile, Skill):
        _check_skill(profile)
    elif not profile.title.strip():
        raise Invalid("the title is empty", hint="Say what to call it.")
    if isinstance(profile, Team):
        _check_members(profile.members)


def member_of(text: str) -> Member:
    """A member as it is written: `persona:ada`, `skill:deploy`, `user:ben`, or `ben`, a user.

    Raises:
        Invalid: it is none of these.
    """
    before, colon, after = text.partition(":")
    sort, name = (before, after) if colon else ("user", before)
    if not _MEMBER.fullmatch(name) or len(name) > NAME_MAX:
        raise Invalid(f"{text!r} is no member", hint="Write persona:NAME, skill:NAME or a user.")
    match sort:
        case "persona" | "skill" | "user":
            return Member(sort, name)
        case _:
            raise Invalid(
                f"{text!r} is no member", hint="Write persona:NAME, skill:NAME or a user."
            )


def _check_skill(skill: Skill) -> None:
    _one_of("type", skill.type, TYPES)
    _one_of("context", skill.context, CONTEXTS)
    _one_of("activation", skill.activation, ACTIVATIONS)
    if skill.activation == "path-triggered" and not skill.paths:
        raise Invalid("no paths trigger this skill", hint="Name at least one in `paths`.")
    for happening, groups in skill.hooks.items():
        _check_hook(happening, groups)
    seen: set[str] = set()
    for file in skill.files:
        _check_file(file, seen)


def _check_hook(happening: str, groups: tuple[HookGroup, ...]) -> None:
    if not happening.strip():
        raise Invalid("a hook has no event", hint="Name it: PreToolUse, Stop, …")
    for handler in (handler for group in groups for handler in group.handlers):
        _one_of(f"handler of {happening}", handler.type, HANDLERS)
        if handler.timeout_s < 0:
            raise Invalid(f"a handler of {happening} has a negative timeout", hint="Use seconds.")


def _check_file(file: SkillFile, seen: set[str]) -> None:
    """A file goes back into the skill's folder and nowhere else."""
    parts = file.path.split("/")
    plain = file.path.isprintable() and not any(sign in file.path for sign in '\\:*?"<>|')
    if not plain or any(part == "" or part.startswith(".") for part in parts):
        raise Invalid(f"{file.path!r} is no path inside a skill", hint="Use scripts/check.sh.")
    if file.path.casefold() in seen | {PAGE.casefold()}:
        raise Invalid(f"{file.path!r} is there twice", hint="Keep one of them.")
    seen.add(file.path.casefold())


def _check_members(members: tuple[Member, ...]) -> None:
    for member in members:
        member_of(f"{member.sort}:{member.id}")
    if len(set(members)) < len(members):
        raise Invalid("a member is in the team twice", hint="Name each one once.")


def _one_of(field: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise Invalid(f"{field} {value!r} is not known", hint=f"Use {', '.join(allowed)}.")
