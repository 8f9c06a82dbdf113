"""Routes of the character library and of the list of worlds."""

from typing import Annotated

import msgspec
from fastapi import APIRouter
from pydantic import Field

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.worlds.idempotency import PlayerDep, RemoverDep
from everloop.interfaces.http.routes.worlds.responses import (
    carry_out,
    portrait_of,
    portraits,
    world_out,
)
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.interfaces.http.schemas.worlds import (
    CastMemberOut,
    CharacterOut,
    SheetOut,
    WorldLineOut,
    WorldOut,
)
from everloop.worlds import (
    CharacterEntry,
    CharacterSheet,
    Opening,
    Place,
    RemoveCharacter,
    RestoreCharacter,
    ReviseCharacter,
    find_character_entry,
    list_characters,
    list_worlds,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["worlds"])

Line = Annotated[str, Field(max_length=2_000)]
LongText = Annotated[str, Field(max_length=100_000)]
Lines = Annotated[tuple[Line, ...], Field(max_length=100)]
Texts = Annotated[tuple[LongText, ...], Field(max_length=100)]
Name = Annotated[str, Field(min_length=1, max_length=100)]


class SheetIn(Body):
    """Who a character is. What is absent stays empty, or as it was."""

    name: Name
    description: LongText | None = None
    personality: LongText | None = None
    scenario: LongText | None = None
    traits: Lines | None = None
    voice_samples: Texts | None = None
    greetings: Texts | None = None
    instructions: LongText | None = None
    closing_instructions: LongText | None = None
    tags: Lines | None = None

    def to_sheet(self, before: CharacterSheet | None = None) -> CharacterSheet:
        """The sheet, with what is absent as it was before."""
        given = self.model_dump(exclude={"request_id"}, exclude_none=True)
        return msgspec.structs.replace(before or CharacterSheet(self.name), **given)


class OpeningIn(Body):
    """How a world begins: title, who you are, when and where, and with whom."""

    title: Annotated[str, Field(min_length=1, max_length=200)]
    player_name: Name
    player_description: LongText = ""
    clock: Annotated[str, Field(max_length=40)]
    place: Name
    place_description: Line = ""
    characters: Annotated[tuple[str, ...], Field(max_length=2)] = ()
    premise: LongText = ""
    weather: Line = ""
    met: Line = ""
    greet: bool = False
    owner_lore: bool = False


@router.get("/characters")
def characters(deps: Deps, removed: bool = False) -> list[CharacterOut]:
    """The characters of the library by name."""
    with deps.engine.reading() as reader:
        return [character_out(one) for one in list_characters(reader, removed=removed)]


@router.post("/characters", status_code=201)
def author(sheet: SheetIn, deps: Deps, by: PlayerDep) -> CharacterOut:
    """Add a character to the library."""
    return character(deps.engine.worlds.author(sheet.to_sheet(), by), deps)


@router.get("/characters/{character_id}")
def character(character_id: str, deps: Deps) -> CharacterOut:
    """One character."""
    with deps.engine.reading() as reader:
        return character_out(find_character_entry(reader, character_id))


@router.put("/characters/{character_id}")
def revise(character_id: str, sheet: SheetIn, deps: Deps, by: PlayerDep) -> CharacterOut:
    """Change a character's sheet. What was imported with it is kept."""
    with deps.engine.reading() as reader:
        before = find_character_entry(reader, character_id).sheet
    command = ReviseCharacter(character_id, sheet.to_sheet(before))
    carry_out(deps, command, by)
    return character(character_id, deps)


@router.delete("/characters/{character_id}")
def remove(character_id: str, deps: Deps, by: RemoverDep) -> CharacterOut:
    """Remove a character from the library. Worlds that it plays in keep it."""
    carry_out(deps, RemoveCharacter(character_id), by)
    return character(character_id, deps)


@router.post("/characters/{character_id}/restoration")
def restore(character_id: str, deps: Deps, by: PlayerDep, _: Body = EMPTY_BODY) -> CharacterOut:
    """Put a removed character back into the library."""
    carry_out(deps, RestoreCharacter(character_id), by)
    return character(character_id, deps)


@router.get("/worlds")
def worlds(deps: Deps, archived: bool = False) -> list[WorldLineOut]:
    """The worlds, newest first."""
    with deps.engine.reading() as reader:
        found = list_worlds(reader, archived=archived)
        pictures = portraits(reader)
    return [
        WorldLineOut(
            world_id=one.world_id,
            title=one.title,
            player_name=one.player_name,
            archived=one.archived,
            since=one.since,
            cast=[
                CastMemberOut(who=who, name=name, portrait=pictures.get(who, ""))
                for who, name in deps.engine.worlds.world(one.world_id).cast.items()
            ],
        )
        for one in found
    ]


@router.post("/worlds", status_code=201)
def open_world(opening: OpeningIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Open a world with its first scene."""
    place = Place("place-1", opening.place, opening.place_description)
    begin = Opening(
        opening.title,
        opening.player_name,
        opening.clock,
        place,
        tuple(dict.fromkeys(opening.characters)),
        opening.player_description,
        opening.premise,
        opening.weather,
        opening.met,
        opening.greet,
        opening.owner_lore,
    )
    return world_out(deps, deps.engine.worlds.open(begin, by))


def character_out(one: CharacterEntry) -> CharacterOut:
    """A character of the library as a response body."""
    return CharacterOut(
        character_id=one.character_id,
        sheet=SheetOut.model_validate(one.sheet),
        portrait=portrait_of(one.sheet.portrait, one.character_id),
        removed=one.removed,
        since=one.since,
    )
