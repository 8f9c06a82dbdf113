"""Packs: converts the lessons, skills, personas and teams in a pack into commands. Pure.

A pack is a folder or a JSON document; `adapters/files/packs.py` reads both into offers. An offer
becomes a command here, or is rejected with the field that is wrong.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import msgspec

from everloop.errors import Invalid
from everloop.lessons.crew.commands import EnlistEntry
from everloop.lessons.crew.events import Persona, Profile, SkillFile, Sort, Team
from everloop.lessons.crew.fields import list_field, normalise_names, text_field, typed_field
from everloop.lessons.crew.skill_page import TEXT_FIELDS, parse_skill
from everloop.lessons.crew.validation import parse_member
from everloop.lessons.gate.evidence import parse_evidence
from everloop.lessons.model.commands import ProposeLesson
from everloop.memory.markdown.folder import PageProblem

PackEntrySort = Literal["lesson", "skill", "persona", "team"]

_COMMON: Final = ("description", "body", "scope")
_ACTIVATION: Final = ("activation", "disable_model_invocation", "paths")
_FIELDS: Final[dict[PackEntrySort, frozenset[str]]] = {
    "lesson": frozenset((*_COMMON, "external_id", "evidence", "promoted", "target_skill")),
    "skill": frozenset(
        (
            *_COMMON,
            *TEXT_FIELDS,
            *_ACTIVATION,
            "name",
            "evidence",
            "arguments",
            "allowed_tools",
            "hooks",
        )
    ),
    "persona": frozenset((*_COMMON, "id", "name")),
    "team": frozenset((*_COMMON, "id", "name", "members")),
}


class PackEntry(msgspec.Struct, frozen=True):
    """One entry of a pack. `source` is its page, or its path in the JSON document.

    `known_as` is the name of its file or folder. A page's `head` is its front matter with the
    fences, verbatim; it keeps fields that we do not know.
    """

    sort: PackEntrySort
    source: str
    fields: dict[str, Any]
    known_as: str = ""
    page: bool = False
    head: str = ""
    files: tuple[SkillFile, ...] = ()


class Pack(msgspec.Struct, frozen=True):
    """A pack as it was read: its offers, and what could not be read."""

    pack_id: str
    offers: tuple[PackEntry, ...]
    troubles: tuple[PageProblem, ...] = ()


def propose_command(offer: PackEntry, pack_id: str) -> ProposeLesson:
    """The command that proposes a lesson of a pack.

    Raises:
        Invalid: it is malformed; the message names the field.
    """
    said = _check_fields(offer)
    return ProposeLesson(
        lesson_id="",
        description=text_field(said, "description"),
        body=text_field(said, "body"),
        scope=text_field(said, "scope") or "user",
        author="pack",
        evidence=parse_evidence(list_field(said, "evidence")),
        pack_id=pack_id,
        external_id=text_field(said, "external_id") or offer.known_as,
        seed_as_promoted=typed_field(said, "promoted", bool, default=False),
        target_skill=text_field(said, "target_skill"),
    )


def enlist_command(offer: PackEntry, pack_id: str = "") -> EnlistEntry:
    """The command that adds a skill, persona or team of a pack.

    Raises:
        Invalid: it is malformed; the message names the field.
    """
    said = _check_fields(offer)
    sort = _entry_sort(offer)
    return EnlistEntry(
        sort=sort,
        name=_name(said, "name" if sort == "skill" else "id", offer),
        profile=_PROFILES[sort](said, offer),
        scope=text_field(said, "scope") or "user",
        author="pack" if pack_id else "agent",
        evidence=tuple(list_field(said, "evidence")),
        pack_id=pack_id,
    )


# -- reading ---------------------------------------------------------------------------------------


def _check_fields(offer: PackEntry) -> dict[str, Any]:
    """The fields of an offer. A page may have unknown fields; a JSON document may not."""
    said = normalise_names(offer.fields)
    if not offer.page and (unknown := sorted(said.keys() - _FIELDS[offer.sort])):
        allowed = ", ".join(sorted(_FIELDS[offer.sort]))
        raise Invalid(f"{unknown[0]!r} is not a field of a {offer.sort}", hint=f"Use {allowed}.")
    return said


def _entry_sort(offer: PackEntry) -> Sort:
    if offer.sort == "lesson":
        raise Invalid("a lesson is not a skill, persona or team", hint="Propose it as a lesson.")
    return offer.sort


def _name(said: Mapping[str, Any], field: str, offer: PackEntry) -> str:
    name = text_field(said, field) or offer.known_as
    if offer.known_as and name != offer.known_as:
        raise Invalid(
            f"its name is {name!r}, but its file or folder is called {offer.known_as!r}",
            hint="Give both the same name.",
        )
    return name


def _skill(said: Mapping[str, Any], offer: PackEntry) -> Profile:
    return parse_skill(said, offer.head, offer.files)


def _persona(said: Mapping[str, Any], offer: PackEntry) -> Profile:
    title = text_field(said, "name") or _name(said, "id", offer)
    return Persona(title, text_field(said, "description"), text_field(said, "body"))


def _team(said: Mapping[str, Any], offer: PackEntry) -> Profile:
    title = text_field(said, "name") or _name(said, "id", offer)
    members = tuple(parse_member(each) for each in list_field(said, "members"))
    return Team(title, text_field(said, "description"), text_field(said, "body"), members)


_PROFILES: Final[dict[Sort, Callable[[Mapping[str, Any], PackEntry], Profile]]] = {
    "skill": _skill,
    "persona": _persona,
    "team": _team,
}
