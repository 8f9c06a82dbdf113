"""`everloop log tail`, `show` and `branches`: read the log."""

from argparse import Namespace

import msgspec

from everloop.app import Engine
from everloop.interfaces.cli import fact_tables
from everloop.interfaces.cli.audience import check_can_read_everything
from everloop.interfaces.cli.output.escape import escape_controls
from everloop.interfaces.cli.output.json_document import encode_document
from everloop.interfaces.cli.output.json_shapes import sighting_json, story_json
from everloop.interfaces.cli.output.screen import BOLD, DIM, NAME, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import Session
from everloop.log import (
    POSITION_MAX,
    BranchList,
    ExplainFact,
    FactDetails,
    ListedRecord,
    NewestFacts,
    decode_positions,
    from_microseconds,
)


def tail(session: Session, args: Namespace) -> None:
    """Print the newest facts; with `--follow`, also new ones as they are recorded."""
    query = NewestFacts(
        limit=args.limit,
        before=args.before or POSITION_MAX,
        stream=args.stream,
        kind=args.kind,
        actor=args.actor,
        counting=args.counting,
    )
    # Following needs the server; the newest facts can also come from the local copy.
    with session.open_engine() if args.follow else session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        if args.follow:
            _follow(session, engine, query, branch=args.branch)
            return
        found = engine.ask(query, branch=args.branch)
    if found:
        session.print_result(
            [sighting_json(sighting) for sighting in found],
            lambda screen: fact_tables.draw_facts(screen, found, session.now),
        )
    else:
        session.print_result(
            [],
            lambda screen: screen.advice(
                "No facts found. Run `everloop log note TEXT` to add one."
            ),
        )


def show(session: Session, args: Namespace) -> None:
    """Show a fact, its sources and what was derived from it."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        story = engine.ask(ExplainFact(args.position), branch=args.branch)
    session.print_result(story_json(story), lambda screen: _draw_story(screen, story, session))


def branches(session: Session, _: Namespace) -> None:
    """Print the branches as a tree."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        lines = engine.ask(BranchList())
    session.print_result(lines, lambda screen: fact_tables.draw_branches(screen, lines))


def _follow(session: Session, engine: Engine, query: NewestFacts, *, branch: str | None) -> None:
    """Print the newest facts, then every new one that matches the filters."""
    head = engine.log.head  # read first, so that facts recorded during the query are followed
    newest = msgspec.structs.replace(query, before=min(query.before, head + 1))
    for sighting in engine.ask(newest, branch=branch):
        _print(session, sighting)
    for fact in engine.follow(after=head):
        check_can_read_everything(session, engine)  # the grant may have been revoked since
        one = msgspec.structs.replace(
            query, limit=1, after=fact.position - 1, before=fact.position + 1
        )
        for sighting in engine.ask(one, branch=branch):
            _print(session, sighting)


def _print(session: Session, sighting: ListedRecord) -> None:
    if session.json:  # a stream has no end, so each fact is a document of its own
        session.stdout.write(encode_document(sighting_json(sighting)))
    else:
        fact_tables.draw_fact(session.screen, sighting, session.now)
    session.stdout.flush()


def _draw_story(screen: Screen, story: FactDetails, session: Session) -> None:
    record = story.fact.record
    because = ", ".join(map(str, decode_positions(record.because))) or "none"
    screen.paragraph(
        (f"{record.kind}", f"{BOLD} {NAME}"), (f"  at position {record.position}", DIM)
    )
    screen.table(
        ("", ""),
        [
            (styled_text((label, DIM)), value)
            for label, value in (
                ("recorded", format_with_age(from_microseconds(record.recorded_us), session.now)),
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
    screen.blank_line()
    screen.paragraph(_pretty(record.data))
    _draw_others(screen, "Sources", story.sources, session)
    _draw_others(screen, "Derived facts", story.dependants, session)
    indirect = story.dependants_count - len(story.dependants)
    if indirect > 0:
        screen.paragraph((f"… and {fact_tables.plural(indirect, 'more derived fact')}", DIM))
    _draw_others(screen, "Retracted by", story.hidden_by, session)


def _draw_others(
    screen: Screen, heading: str, sightings: tuple[ListedRecord, ...], session: Session
) -> None:
    if sightings:
        screen.blank_line()
        screen.paragraph((heading, BOLD))
        fact_tables.draw_facts(screen, sightings, session.now)


def _counts(story: FactDetails) -> str:
    if story.fact.verdict == "counts":
        return "yes"
    return f"no: {fact_tables.MARKS[story.fact.verdict]}"


def _pretty(data: str | None) -> str:
    if data is None:
        return "(payload erased)"
    return escape_controls(msgspec.json.format(data, indent=2))
