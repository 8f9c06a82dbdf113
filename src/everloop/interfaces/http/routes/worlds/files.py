"""Routes of files: portraits, imports of cards, lorebooks and chats, and exports."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import FileResponse, Response
from starlette.concurrency import run_in_threadpool

from everloop.adapters import plain_name
from everloop.errors import Invalid, NotFound
from everloop.import_jobs import preview_import
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES, RAW_BODY
from everloop.interfaces.http.routes.worlds.idempotency import PlayerDep
from everloop.interfaces.http.routes.worlds.library import character_out
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.interfaces.http.schemas.response import DoneOut, ImpactOut, impact_out
from everloop.interfaces.http.schemas.world_memories import ImportPreviewOut
from everloop.interfaces.http.schemas.worlds import (
    CastQuestionOut,
    CharacterOut,
    ImportNoteOut,
    OpeningOut,
    PlaceOut,
    WorldImportOut,
)
from everloop.interfaces.http.uploads import receive_upload
from everloop.worlds import (
    CharacterForm,
    ExportedFile,
    ImportChoices,
    WorldForm,
    find_character_entry,
    picture_media_type,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["worlds"])

SEALED = {"Cache-Control": "no-store", "Content-Security-Policy": "sandbox; default-src 'none'"}


class ProseIn(Body):
    """How a world is to begin, in the player's words."""

    prose: str


@router.get("/characters/{character_id}/portrait", response_class=FileResponse)
def portrait(character_id: str, deps: Deps) -> FileResponse:
    """The picture of a character."""
    with deps.engine.reading() as reader:
        digest = find_character_entry(reader, character_id).sheet.portrait
    if not digest:
        raise NotFound(f"{character_id!r} has no portrait", hint="Import a card with a picture.")
    headers = {**SEALED, "X-Content-Type-Options": "nosniff"}
    path = deps.running.files.path(digest)
    with path.open("rb") as file:
        media_type = picture_media_type(file.read(16)) or "application/octet-stream"
    return FileResponse(path, media_type=media_type, headers=headers)


@router.put("/characters/{character_id}/portrait", openapi_extra=RAW_BODY)
async def set_portrait(
    character_id: str, request: Request, deps: Deps, by: ActorDep
) -> CharacterOut:
    """Give a character another picture: PNG, JPEG, GIF or WebP. The body is the file."""
    most = deps.running.settings.exchange.portrait_bytes_max
    content = bytearray()
    async for part in request.stream():
        content += part
        if len(content) > most:
            raise Invalid(
                f"a portrait has at most {most:,} bytes", hint="Make the picture smaller."
            )
    set_it = deps.engine.exchange.set_portrait
    await run_in_threadpool(set_it, character_id, bytes(content), by)
    with deps.engine.reading() as reader:
        return character_out(find_character_entry(reader, character_id))


@router.post("/world-imports", status_code=201, openapi_extra=RAW_BODY)
async def take_in(  # noqa: PLR0913 - the choices of a player
    request: Request,
    deps: Deps,
    by: ActorDep,
    name: Annotated[str, Query(min_length=1, max_length=500)],
    cast: Annotated[tuple[str, ...], Query(max_length=2)] = (),
    player: Annotated[str, Query(max_length=100)] = "",
    world: Annotated[str, Query(max_length=100)] = "",
    owner_lore: bool = False,
) -> WorldImportOut:
    """Import a card, a lorebook, a chat, a SillyTavern folder (zip) or an export of ours.

    The body is the file. Where more than two characters speak, `cast` names the two that play.
    If the server ends meanwhile, it goes on with the next start.
    """
    jobs = deps.running.world_imports
    choices = ImportChoices({"": cast} if cast else {}, player, owner_lore, world)
    path = await receive_upload(request, name, jobs)
    job = await run_in_threadpool(jobs.submit_upload, path, choices, by)
    return WorldImportOut.model_validate(await run_in_threadpool(job.outcome))


@router.post("/world-imports/preview", openapi_extra=RAW_BODY)
async def preview(
    request: Request,
    deps: Deps,
    by: ActorDep,
    name: Annotated[str, Query(min_length=1, max_length=500)],
    cast: Annotated[tuple[str, ...], Query(max_length=2)] = (),
    player: Annotated[str, Query(max_length=100)] = "",
) -> ImportPreviewOut:
    """What an import would keep, change and leave out. Nothing is recorded."""
    jobs, limits = deps.running.world_imports, deps.running.settings.exchange
    choices = ImportChoices({"": cast} if cast else {}, player)
    path = await receive_upload(request, name, jobs)
    try:
        found = await run_in_threadpool(preview_import, deps.engine, path, choices, by, limits)
    finally:
        await run_in_threadpool(jobs.drop, path.parent)
    result = found.result
    return ImportPreviewOut(
        source=result.source,
        name=result.name,
        characters=list(found.names),
        worlds=len(result.worlds),
        books=len(result.books),
        messages=result.messages,
        notes=[ImportNoteOut.model_validate(one) for one in result.notes],
        questions=[CastQuestionOut.model_validate(one) for one in result.questions],
        before=found.before,
    )


@router.get("/world-imports/{import_id}/undo")
def preview_undo(import_id: str, deps: Deps) -> ImpactOut:
    """What would go if an import were undone."""
    return impact_out(deps.engine.exchange.preview_undo(import_id))


@router.post("/world-imports/{import_id}/undo")
def undo(import_id: str, deps: Deps, by: PlayerDep, _: Body = EMPTY_BODY) -> DoneOut:
    """Undo a whole import. Retract `position` to have it back."""
    return DoneOut(position=deps.engine.exchange.undo(import_id, by))


@router.post("/world-openings")
def propose_opening(told: ProseIn, deps: Deps) -> OpeningOut:
    """How a world could begin, as a text tells it. Nothing is recorded."""
    found = deps.running.propose_opening(told.prose)
    return OpeningOut(
        title=found.title,
        player_name=found.player_name,
        player_description=found.player_description,
        clock=found.clock,
        place=PlaceOut.model_validate(found.place),
        characters=list(found.character_ids),
        premise=found.premise,
        weather=found.weather,
        met=found.met,
        more=list(found.more),
        read_by=found.read_by,
    )


@router.get("/characters/{character_id}/export", response_class=Response)
def export_character(
    character_id: str,
    deps: Deps,
    form: Annotated[CharacterForm, Query(alias="format")] = "png",
) -> Response:
    """A character as a card, or as JSON that can be imported equal."""
    return _download(deps.engine.exchange.exports.character(character_id, form))


@router.get("/worlds/{world_id}/export", response_class=Response)
def export_world(
    world_id: str, deps: Deps, form: Annotated[WorldForm, Query(alias="format")] = "markdown"
) -> Response:
    """A world as a book to read, as JSON that can be imported equal, as a chat, or its lore."""
    world = deps.engine.worlds.world(world_id)
    return _download(deps.engine.exchange.exports.world(world_id, world, form))


@router.get("/worlds/{world_id}/scenes/{scene_id}/export", response_class=Response)
def export_scene(world_id: str, scene_id: str, deps: Deps) -> Response:
    """One scene as JSON that can be imported."""
    title = deps.engine.worlds.world(world_id).title
    return _download(deps.engine.exchange.exports.scene(world_id, scene_id, title))


def _download(file: ExportedFile) -> Response:
    named = quote(plain_name(file.name), safe="")
    headers = {**SEALED, "Content-Disposition": f"attachment; filename*=UTF-8''{named}"}
    return Response(file.content, media_type=file.media_type, headers=headers)
