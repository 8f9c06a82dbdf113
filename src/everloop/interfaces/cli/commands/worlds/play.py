"""`everloop worlds`: read a world, say a line, rewind, and ask what someone knows."""

from argparse import Namespace

from everloop.errors import NotFound
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.commands.worlds.import_export import find_world
from everloop.interfaces.cli.output.screen import DIM, NAME, Screen
from everloop.interfaces.cli.session import Session
from everloop.worlds import (
    Knowledge,
    Line,
    World,
    course_of,
    knowledge_of,
    names_in,
    story_messages,
    without_missed,
)


def show(session: Session, args: Namespace) -> None:
    """Show where a world stands, and the end of its story."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        world_id = find_world(engine, args.world)
        world = engine.worlds.world(world_id)
        with engine.reading() as reader:
            said = story_messages(reader, world_id, limit=args.limit)
            names = names_in(reader, world_id, world)
    place = world.places.get(world.scene.place_id) if world.scene else None
    document = {
        "world_id": world_id,
        "title": world.title,
        "clock": world.clock,
        "place": place.name if place else "",
        "present": [names[who] for who in world.scene.present] if world.scene else [],
        "messages": [
            {
                "message_id": one.message_id,
                "speaker": names.get(one.speaker, one.speaker),
                "text": one.text,
                "witnesses": [names.get(who, who) for who in one.witnesses],
            }
            for one in said
        ],
    }

    def draw(screen: Screen) -> None:
        screen.paragraph((world.title, NAME), f", {world.clock}")
        screen.paragraph(place.name if place else "No scene is open.", style_of(world))
        for one in said:
            screen.paragraph((f"{names.get(one.speaker, one.speaker)}: ", NAME), one.text)
            screen.paragraph((one.message_id, DIM))

    session.print_result(document, draw)


def style_of(world: World) -> tuple[str, str]:
    """Who is in the open scene, as a quiet addition."""
    present = world.scene.present if world.scene else ()
    names = [world.player_name if who == "you" else world.cast.get(who, who) for who in present]
    return (f" with {', '.join(names)}" if names else "", DIM)


def say(session: Session, args: Namespace) -> None:
    """Say a line in the open scene, and request the reply."""
    with session.open_engine() as engine:
        world_id = find_world(engine, args.world)
        done = engine.worlds.say(world_id, Line(args.text), command_context(session))

    def draw(screen: Screen) -> None:
        screen.paragraph("Said: ", (done.written or "an aside", NAME))
        screen.advice(("The reply is written while `everloop serve` runs.", DIM))

    session.print_result(done, draw)


def rewind(session: Session, args: Namespace) -> None:
    """Go back to just before a line. The story so far stays on its own branch."""
    with session.open_engine() as engine:
        world_id = find_world(engine, args.world)
        position = engine.worlds.rewind(world_id, args.message, command_context(session))

    def draw(screen: Screen) -> None:
        screen.paragraph("Rewound to before ", (args.message, NAME), ".")
        screen.paragraph(("The story so far is kept on its own branch.", DIM))

    session.print_result({"position": position}, draw)


def knows(session: Session, args: Namespace) -> None:
    """Show what someone of a world knows, and nothing that they missed."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        world_id = find_world(engine, args.world)
        world = engine.worlds.world(world_id)
        with engine.reading() as reader:
            names = names_in(reader, world_id, world)
            who = _find(names, args.name)
            course = course_of(reader, world_id, world)
            found = without_missed(knowledge_of(reader, world_id, world, course, who))

    session.print_result(found, lambda screen: _draw_knowledge(screen, found, names))


def _find(names: dict[str, str], wanted: str) -> str:
    for who, name in names.items():
        if wanted.casefold() in (who.casefold(), name.casefold()):
            return who
    raise NotFound(
        f"nobody called {wanted!r} is in this world", hint=f"In it: {', '.join(names.values())}."
    )


def _draw_knowledge(screen: Screen, found: Knowledge, names: dict[str, str]) -> None:
    screen.paragraph(("What ", DIM), (found.name, NAME), (" knows", DIM))
    for one in found.scenes:
        screen.paragraph((f"Scene {one.scene.number}: {one.scene.place}", NAME))
        if one.summary is not None:
            screen.paragraph(one.summary.text)
        for line in one.known:
            via = "" if line.learned_via == "saw" else f" ({line.learned_via})"
            screen.paragraph((f"{names.get(line.speaker, line.speaker)}{via}: ", DIM), line.text)
    for memory in found.offstage:
        screen.paragraph(("Off stage: ", DIM), memory.text)
