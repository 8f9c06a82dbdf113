"""`everloop recall`: search memory, best match first."""

from argparse import Namespace

from rich.text import Text

from everloop.app import Engine
from everloop.interfaces.cli.audience import (
    build_filter,
    check_has_grant,
    effective_principal,
    is_filtered,
    missing_grant_notes,
    read_point,
)
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.escape import one_line
from everloop.interfaces.cli.output.screen import BOLD, DIM, NAME, WARNING, Screen, styled_text
from everloop.interfaces.cli.session import Session
from everloop.memory import (
    BOOST_REASONS,
    NO_MATCH,
    ContradictionGroup,
    RankExplanation,
    SearchHit,
    SearchQuery,
    SearchResult,
    group_contradictions,
    short_id,
)

MEASURES = {"words": "share of the query terms", "meaning": "similarity"}


def recall(session: Session, args: Namespace) -> None:
    """Search memory and print the results."""
    principal = effective_principal(session, args)
    question = search_request(session, args)
    with session.open_for_reading() as engine:
        check_has_grant(session, engine)
        view = read_point(session, engine, args)
        embed_before_search(session, engine, question)
        answer = engine.memory.recall(principal, question, **view)
        notes = [*answer.notes, *missing_grant_notes(engine, principal)]
    groups = group_contradictions(answer.hits)
    session.print_result(
        {
            "question": question.text,
            "principal": principal,
            "mode": question.mode,
            "hits": answer.hits,
            "closest": answer.closest,
            "contradictory": [[h.item.item_id for h in g.hits] for g in groups if g.contradictory],
            "notes": notes,
        },
        lambda screen: _draw(
            screen,
            session,
            SearchResult(answer.hits, tuple(notes), answer.closest),
            groups,
            args,
        ),
    )


def search_request(session: Session, args: Namespace) -> SearchQuery:
    """The search request that the options describe."""
    return SearchQuery(
        " ".join(args.question), limit=args.limit, mode=args.mode, only=build_filter(session, args)
    )


def embed_before_search(session: Session, engine: Engine, question: SearchQuery) -> None:
    """Compute missing embeddings before a semantic search, up to a limit per command.

    The next search continues where this one stopped, and the notes say so. The index that the
    search needs anyway is loaded first: otherwise all vectors would be scanned, and nothing cached
    for the next command.
    """
    if question.mode == "text":
        return
    with engine.reading() as reader:
        engine.memory.memory.prepare(reader)
    with session.progress("computing embeddings") as progress:
        engine.memory.embed_briefly(progress)


def _draw(
    screen: Screen,
    session: Session,
    answer: SearchResult,
    groups: list[ContradictionGroup],
    args: Namespace,
) -> None:
    question = " ".join(args.question)
    if groups:
        _table(screen, session, groups, question)
    elif answer.closest:
        screen.paragraph(f"{NO_MATCH} The closest:")
        _table(screen, session, [ContradictionGroup((hit,)) for hit in answer.closest], question)
    else:
        more = " Try again without filters." if is_filtered(args) else ""
        screen.paragraph(f"No matches.{more}")
    if args.explain:
        shown = (hit for group in groups for hit in group.hits)
        for number, hit in enumerate(shown, start=1):
            _draw_score(screen, number, hit)
    if against := [group for group in groups if group.contradictory]:
        newest = all(group.newest_first for group in against)
        first = "the newest" if newest else "the best match"
        screen.paragraph((f"Results marked ≠ contradict each other; {first} comes first.", WARNING))
    screen.notes([note for note in answer.notes if note != NO_MATCH])


def _table(
    screen: Screen, session: Session, groups: list[ContradictionGroup], question: str
) -> None:
    marked = [(hit, group.contradictory) for group in groups for hit in group.hits]
    heads = [_head(number, *each) for number, each in enumerate(marked, start=1)]
    if not screen.wide:
        for head, (hit, _) in zip(heads, marked, strict=True):
            line = Text("  ").join((*head, memory_items.item_details(hit.item, session.now)))
            screen.line(line)
            screen.line(
                Text.assemble("    ", memory_items.item_line(hit.item, session.now, question))
            )
        return
    screen.table(
        ("##", "id", "when", "scope", "match", "memory"),
        [
            (
                *head,
                styled_text((memory_items.format_happened(hit.item.happened_at, session.now), DIM)),
                one_line(hit.item.scope, memory_items.SCOPE_WIDTH),
                styled_text((hit.source, DIM)),
                memory_items.item_line(hit.item, session.now, question),
            )
            for head, (hit, _) in zip(heads, marked, strict=True)
        ],
        cut=True,
    )


def _head(number: int, hit: SearchHit, contradictory: bool) -> tuple[Text, Text]:
    mark = ("≠ ", WARNING) if contradictory else ""
    return styled_text(mark, (str(number), BOLD)), styled_text((short_id(hit.item.item_id), NAME))


def _draw_score(screen: Screen, number: int, hit: SearchHit) -> None:
    screen.blank_line()
    screen.paragraph(
        (str(number), BOLD),
        "  ",
        (hit.item.title, BOLD),
        f"  {hit.why.points:.2f} points",
    )
    screen.table(("", ""), [(styled_text((name, DIM)), text) for name, text in reasons(hit.why)])


def reasons(why: RankExplanation) -> list[tuple[str, str]]:
    """The score of a result per retriever and boost, as pairs of a name and a sentence."""
    legs = [
        (
            f"  {leg.leg}",
            f"rank {leg.rank}, {MEASURES.get(leg.leg, 'similarity')} {leg.similarity:.2f}:"
            f" {leg.points:+.2f}",
        )
        for leg in why.legs
    ]
    boosts = [
        ("  boost", f"{BOOST_REASONS.get(name, name)}: {points:+.2f}")
        for name, points in why.boosts
    ]
    return [*legs, *boosts]
