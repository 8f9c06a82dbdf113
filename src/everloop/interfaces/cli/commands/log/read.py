"""`everloop log tail`, `show` and `branches`: looking at the log."""

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
    """Show the newest facts, and with `--follow` each new one as it comes."""
    query = NewestFacts(
        limit=args.limit,
        before=args.before or ALL,
        stream=args.stream,
        kind=args.kind,
        actor=args.actor,
        counting=args.counting,
    )
    # What is to come, the server alone knows; what was, the copy too.
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
            [], lambda screen: screen.say("No facts here yet. `everloop log note` writes one.")
        )


def show(session: Session, args: Namespace) -> None:
    """Show one fact, what it came from and what came of it."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        story = engine.ask(FactStory(args.position), branch=args.branch)
    session.answer(story_of(story), lambda screen: _draw_story(screen, story, session))


def branches(session: Session, _: Namespace) -> None:
    """Draw the branches."""
    with session.looking() as engine:
        check_reads_all(session, engine)
        lines = engine.ask(BranchList())
    session.answer(lines, lambda screen: fact_tables.branch_tree(screen, lines))


def _follow(session: Session, engine: Engine, query: NewestFacts, *, branch: str | None) -> None:
    """Print the newest facts, then every newer one that the filters let through."""
    head = engine.log.head  # before the question: what comes while it is answered is newer
    known = msgspec.structs.replace(query, before=min(query.before, head + 1))
    for sighting in engine.ask(known, branch=branch):
        _print(session, sighting)
    for fact in engine.follow(after=head):
        check_reads_all(session, engine)  # what was granted may have ended since
        one = msgspec.structs.replace(
            query, limit=1, after=fact.position - 1, before=fact.position + 1
        )
        for sighting in engine.ask(one, branch=branch):
            _print(session, sighting)


def _print(session: Session, sighting: Sighting) -> None:
    if session.json:  # a stream has no end, so here it is one document for each fact
        session.stdout.write(document(sighting_of(sighting)))
    else:
        fact_tables.fact(session.screen, sighting, session.now)
    session.stdout.flush()


def _draw_story(screen: Screen, story: Story, session: Session) -> None:
    record = story.fact.record
    because = ", ".join(map(str, positions(record.because))) or "nothing else"
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
    _draw_others(screen, "It was derived from", story.sources, session)
    _draw_others(screen, "From it were derived", story.dependants, session)
    indirect = story.dependants_count - len(story.dependants)
    if indirect > 0:
        screen.say(
            (f"… and {fact_tables.plural(indirect, 'fact')} more, directly or indirectly", FAINT)
        )
    _draw_others(screen, "It was taken back by", story.hidden_by, session)


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
        return "(the payload was erased)"
    return inert(msgspec.json.format(data, indent=2))
