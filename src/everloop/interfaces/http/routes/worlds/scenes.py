"""Routes of one world: its situation, settings, cast, places, scenes and time."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import Field

from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.worlds.idempotency import PlayerDep, RemoverDep
from everloop.interfaces.http.routes.worlds.library import Line, LongText, Name
from everloop.interfaces.http.routes.worlds.responses import carry_out, world_out
from everloop.interfaces.http.schemas.request import Body
from everloop.interfaces.http.schemas.worlds import WorldOut
from everloop.worlds import (
    ArchiveWorld,
    AuthorNote,
    ChangePresence,
    CloseScene,
    DefinePlace,
    DescribeScene,
    JoinCast,
    LeaveCast,
    OpenScene,
    Place,
    RenameWorld,
    RestoreWorld,
    SetAuthorNote,
    SetStyle,
    Slot,
    Style,
    TimeSkip,
    find_character_entry,
)

router = APIRouter(prefix="/api/worlds/{world_id}", responses=ERROR_RESPONSES, tags=["worlds"])

BranchName = Annotated[str | None, Query(max_length=300)]
People = Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=3)]


class WorldChange(Body):
    """Changes to a world; absent fields stay as they are."""

    title: Annotated[str | None, Field(min_length=1, max_length=200)] = None
    archived: bool | None = None


class StyleIn(Body):
    """How a world is told."""

    prose: LongText = ""
    reply_tokens: Annotated[int, Field(ge=16, le=8_000)] = 400
    temperature: Annotated[float, Field(ge=0, le=2)] = 0.85
    own_prose_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    card_instructions: bool = False


class NoteIn(Body):
    """The author's note."""

    text: LongText = ""
    depth: Annotated[int, Field(ge=0, le=100)] = 4


class JoinIn(Body):
    """A character that joins the cast; `replaces` makes room where two are in it."""

    character_id: Annotated[str, Field(max_length=100)]
    met: Line = ""
    replaces: Annotated[str, Field(max_length=100)] = ""


class SlotIn(Body):
    """A spot in a place; `blocked` says why nobody can get there now."""

    name: Name
    capacity: Annotated[int, Field(ge=1, le=100)] = 1
    blocked: Line = ""


class PlaceIn(Body):
    """A place, new or with another description."""

    name: Name
    description: LongText = ""
    slots: Annotated[tuple[SlotIn, ...], Field(max_length=50)] = ()


class SceneIn(Body):
    """A scene that begins. Without `you` among those present, it is a meanwhile-scene."""

    place_id: Annotated[str, Field(max_length=100)]
    present: People
    premise: LongText = ""
    weather: Line = ""


class SceneChange(Body):
    """Changes to the open scene; absent fields stay as they are."""

    premise: LongText | None = None
    weather: Line | None = None
    present: People | None = None


class ClosingIn(Body):
    """Why a scene ends."""

    reason: Line = ""


class SkipIn(Body):
    """How far to skip, and how: inside the scene, by a jump that closes it, or by its length."""

    minutes: Annotated[int, Field(ge=1, le=60 * 24 * 366 * 10)]
    narration: Line = ""
    how: Literal["auto", "elide", "jump"] = "auto"


@router.get("")
def situation(world_id: str, deps: Deps, branch: BranchName = None) -> WorldOut:
    """The situation in a world, on its current branch or another."""
    return world_out(deps, world_id, branch)


@router.patch("")
def change(world_id: str, wanted: WorldChange, deps: Deps, by: PlayerDep) -> WorldOut:
    """Rename, archive or restore a world."""
    if wanted.title is not None:
        carry_out(deps, RenameWorld(world_id, wanted.title), by, "title")
    if wanted.archived is not None:
        change = (ArchiveWorld if wanted.archived else RestoreWorld)(world_id)
        carry_out(deps, change, by, "archived")
    return world_out(deps, world_id)


@router.put("/style")
def set_style(world_id: str, style: StyleIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Change how a world is told: prose, length of replies, temperature."""
    told = Style(**style.model_dump(exclude={"request_id"}))
    carry_out(deps, SetStyle(world_id, told), by)
    return world_out(deps, world_id)


@router.put("/note")
def set_note(world_id: str, note: NoteIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Change the author's note."""
    told = AuthorNote(note.text, note.depth)
    carry_out(deps, SetAuthorNote(world_id, told), by)
    return world_out(deps, world_id)


@router.post("/cast")
def join(world_id: str, joining: JoinIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Add a character of the library to the cast."""
    with deps.engine.reading() as reader:
        name = find_character_entry(reader, joining.character_id).sheet.name
    command = JoinCast(world_id, joining.character_id, name, joining.met, joining.replaces)
    carry_out(deps, command, by)
    return world_out(deps, world_id)


@router.delete("/cast/{character_id}")
def leave(world_id: str, character_id: str, deps: Deps, by: RemoverDep) -> WorldOut:
    """Take a character out of the cast. In a scene, that ends it and begins another."""
    scene_id = deps.engine.log.ids.new("scn")
    carry_out(deps, LeaveCast(world_id, character_id, scene_id), by)
    return world_out(deps, world_id)


@router.put("/places/{place_id}")
def define_place(
    world_id: str, place_id: str, place: PlaceIn, deps: Deps, by: PlayerDep
) -> WorldOut:
    """Add a place, or change its description."""
    slots = tuple(Slot(one.name, one.capacity, one.blocked) for one in place.slots)
    defined = Place(place_id, place.name, place.description, slots)
    carry_out(deps, DefinePlace(world_id, defined), by)
    return world_out(deps, world_id)


@router.post("/scenes", status_code=201)
def open_scene(world_id: str, scene: SceneIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Begin a scene at a place, with some of the cast."""
    command = OpenScene(
        world_id,
        deps.engine.log.ids.new("scn"),
        scene.place_id,
        scene.present,
        scene.premise,
        scene.weather,
    )
    carry_out(deps, command, by)
    return world_out(deps, world_id)


@router.patch("/scene")
def change_scene(world_id: str, wanted: SceneChange, deps: Deps, by: PlayerDep) -> WorldOut:
    """Change premise, weather, or who is in the open scene."""
    if wanted.premise is not None or wanted.weather is not None:
        carry_out(deps, DescribeScene(world_id, wanted.premise, wanted.weather), by, "told")
    if wanted.present is not None:
        carry_out(deps, ChangePresence(world_id, wanted.present), by, "present")
    return world_out(deps, world_id)


@router.post("/scenes/{scene_id}/closing")
def close_scene(
    world_id: str, scene_id: str, closing: ClosingIn, deps: Deps, by: PlayerDep
) -> WorldOut:
    """Close a scene. Every witness keeps a summary of their own."""
    carry_out(deps, CloseScene(world_id, scene_id, closing.reason), by)
    return world_out(deps, world_id)


@router.post("/time")
def skip_time(world_id: str, skip: SkipIn, deps: Deps, by: PlayerDep) -> WorldOut:
    """Let time go by. A long skip closes the scene, and everyone gets a memory of the time."""
    deps.engine.worlds.skip_time(world_id, TimeSkip(skip.minutes, skip.narration, skip.how), by)
    return world_out(deps, world_id)
