"""The situation of a world as a response body, and how routes carry out its commands."""

from everloop.interfaces.http.dependencies import Dependencies
from everloop.interfaces.http.schemas.worlds import (
    AuthorNoteOut,
    EdgeOut,
    PersonOut,
    PlaceOut,
    PlotOut,
    SceneNowOut,
    StoryEventOut,
    StyleOut,
    TriggerOut,
    WorldOut,
    WorldTurnOut,
)
from everloop.log import Command, Context, Reader, Receipt, step_request_id
from everloop.worlds import (
    PLAYER,
    Activity,
    Condition,
    Place,
    World,
    edges_of,
    list_characters,
    names_in,
    timeline,
    world_stream,
)


def carry_out(deps: Dependencies, command: Command, by: Context, step: str = "") -> Receipt:
    """Carry out a command once, however often the request is sent; one of its steps, if named."""
    return deps.engine.do(command, by=by, request_id=step_request_id(by, step))


def world_out(deps: Dependencies, world_id: str, branch: str | None = None) -> WorldOut:
    """The situation in a world, on the current branch or another."""
    engine = deps.engine
    world = engine.worlds.world(world_id, branch)
    with engine.reading(branch=branch) as reader:
        names = names_in(reader, world_id, world)
        pictures = portraits(reader)
        scenes = len(timeline(reader, world_id, ("scene_opened",)))
    return WorldOut(
        world_id=world_id,
        branch=branch or engine.log.branches.current[world_stream(world_id)],
        title=world.title,
        player_name=world.player_name,
        player_description=world.player_description,
        clock=world.clock,
        archived=world.archived,
        people=[_person(world, who, pictures.get(who, "")) for who in world.people],
        names=names,
        scene=_scene(world, scenes),
        scenes=scenes,
        places=[PlaceOut.model_validate(one) for one in world.places.values()],
        edges={key: EdgeOut.model_validate(edge) for key, edge in edges_of(world).items()},
        group=world.group,
        events=[
            StoryEventOut(
                event_id=key,
                title=one.title,
                gist=one.gist,
                status=one.status,
                known_to=list(one.known_to),
                trigger=TriggerOut.model_validate(one.trigger),
            )
            for key, one in world.events.items()
        ],
        plots=[
            PlotOut(plot_id=key, title=one.title, summary=one.summary, known_to=list(one.known_to))
            for key, one in world.plots.items()
        ],
        style=StyleOut.model_validate(world.style),
        note=AuthorNoteOut.model_validate(world.note),
        turn=WorldTurnOut.model_validate(world.turn) if world.turn else None,
        newest=world.newest.message_id if world.newest else "",
        elision_minutes_max=engine.worlds.settings.elision_minutes_max,
    )


def portraits(reader: Reader) -> dict[str, str]:
    """The addresses of the pictures of all characters."""
    return {
        one.character_id: portrait_of(one.sheet.portrait, one.character_id)
        for one in list_characters(reader, removed=True)
    }


def portrait_of(portrait: str, character_id: str) -> str:
    """The address of a character's picture, another for another one; empty if it has none."""
    return f"/api/characters/{character_id}/portrait?of={portrait[:12]}" if portrait else ""


def _person(world: World, who: str, portrait: str) -> PersonOut:
    activity = world.activities.get(who, Activity())
    condition = world.conditions.get(who, Condition())
    props = [prop.name for prop in world.props.values() if prop.holder == who]
    return PersonOut(
        who=who,
        name=world.player_name if who == PLAYER else world.cast[who],
        portrait=portrait,
        present=world.scene is not None and who in world.scene.present,
        mood=condition.mood,
        goals=list(condition.goals),
        status=condition.status,
        where=activity.where,
        whereabouts=activity.whereabouts,
        doing=activity.doing,
        holding=list(dict.fromkeys((*activity.holding, *props))),
        belongings=list(world.belongings.get(who, ())),
        attention=activity.attention,
        expression=activity.expression,
    )


def _scene(world: World, number: int) -> SceneNowOut | None:
    scene = world.scene
    if scene is None:
        return None
    place = world.places.get(scene.place_id) or Place(scene.place_id, scene.place_id)
    return SceneNowOut(
        scene_id=scene.scene_id,
        number=number,
        place=PlaceOut.model_validate(place),
        present=list(scene.present),
        premise=scene.premise,
        weather=scene.weather,
        meanwhile=scene.is_meanwhile,
    )
