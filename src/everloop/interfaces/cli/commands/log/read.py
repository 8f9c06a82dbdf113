"""`everloop log tail`, `show` and `branches`: read the log."""

from argparse import Namespace

import msgspec

from everloop.app import Engine
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.audience import check_reads_all
from everloop.interfaces.cli.output.escape import inert
from everloop.interfaces.cli.output.json_document import document
from everloop.interfaces.cli.output.json_shapes import sighting_of, story_of
from everloop.interfaces.cli.output.screen import FAINT, NAME, STRONG, Screen, styled
from everloop.interfaces.cli.output.times import local_with_age
from everloop.interfaces.cli.session import Session
from everloop.log.model.branches import ALL
from everloop.log.model.record import moment, positions
from everloop.log.read.queries import BranchList, FactStory, NewestFacts, Sighting, Story

FOLLOW_PAGE = 500


def tail(session: Session, args: Namespace) -> None:
    """Print the newest facts; with `--follow`, also new ones as they are recorded."""
    query = NewestFacts(
        limit=args.limit,
        before=args.before or ALL,
        stream=args.stream,
        kind=args.kind,
        actor=args.actor,
        counting=args.counting,
    )
    # Following needs the server; the newest facts can also come from the local copy.
    with session.engine() if args.follow else session.looking() as engine:
        check_reads_all(session, engine)
        if args.follow:
            _follow(session, engine, query, branch=args.branch)
            return
        found = engine.ask(query, branch=args.branch)
    if found:
        session.answer(
            [sighting_of(sighting) for sighting in found],
            lambda screen: fact_tables.facts(screen, found, session.now),
        )
    else:
        session.answer(
            [],
            lambda screen: screen.say("No facts found. Run `everloop log note TEXT` to add one."),
        )


def show(session: Session, args: Namespace) -> None:
    """Show a fact, its sources and what was derived from it."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        story = engine.ask(FactStory(args.position), branch=args.branch)
    session.answer(story_of(story), lambda screen: _draw_story(screen, story, session))


def branches(session: Session, _: Namespace) -> None:
    """Print the branches as a tree."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        lines = engine.ask(BranchList())
    session.answer(lines, lambda screen: fact_tables.branch_tree(screen, lines))


def _follow(session: Session, engine: Engine, query: NewestFacts, *, branch: str | None) -> None:
    """Print the newest facts, then every new one that matches the filters."""
    head = engine.log.head  # read first, so that facts recorded during the query are followed
    newest = msgspec.structs.replace(query, before=min(query.before, head + 1))
    for sighting in engine.ask(newest, branch=branch):
        _print(session, sighting)
    for fact in engine.follow(after=head):
        check_reads_all(session, engine)  # the grant may have been revoked since
        one = msgspec.structs.replace(
            query, limit=1, after=fact.position - 1, before=fact.position + 1
        )
        for sighting in engine.ask(one, branch=branch):
            _print(session, sighting)


def _print(session: Session, sighting: Sighting) -> None:
    if session.json:  # a stream has no end, so each fact is a document of its own
        session.stdout.write(document(sighting_of(sighting)))
    else:
        fact_tables.fact(session.screen, sighting, session.now)
    session.stdout.flush()


def _draw_story(screen: Screen, story: Story, session: Session) -> None:
    record = story.fact.record
    because = ", ".join(map(str, positions(record.because))) or "none"
    screen.say((f"{record.kind}", f"{STRONG} {NAME}"), (f"  at position {record.position}", FAINT))
    screen.table(
        ("", ""),
        [
            (styled((label, FAINT)), value)
            for label, value in (
                ("recorded", local_with_age(moment(record.recorded_us), session.now)),
                ("by", record.actor),
                ("stream", f"{record.stream}, version {record.version} on branch {record.branch}"),
                ("counts", _counts(story)),
                ("derived from", because),
                ("request id", record.request_id),
                ("schema", str(record.schema)),
                ("digest", record.digest.hex()),
            )
        ],
    )
    screen.gap()
    screen.say(_pretty(record.data))
    _draw_others(screen, "Sources", story.sources, session)
    _draw_others(screen, "Derived facts", story.dependants, session)
    indirect = story.dependants_count - len(story.dependants)
    if indirect > 0:
        screen.say((f"… and {fact_tables.plural(indirect, 'more derived fact')}", FAINT))
    _draw_others(screen, "Retracted by", story.hidden_by, session)


def _draw_others(
    screen: Screen, heading: str, sightings: tuple[Sighting, ...], session: Session
) -> None:
    if sightings:
        screen.gap()
        screen.say((heading, STRONG))
        fact_tables.facts(screen, sightings, session.now)


def _counts(story: Story) -> str:
    if story.fact.verdict == "counts":
        return "yes"
    return f"no: {fact_tables.MARKS[story.fact.verdict]}"


def _pretty(data: str | None) -> str:
    if data is None:
        return "(payload erased)"
    return inert(msgspec.json.format(data, indent=2))
