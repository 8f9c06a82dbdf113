"""`everloop recall`: search memory, best match first."""

from argparse import Namespace

from rich.text import Text

from everloop.app import Engine
from everloop.interfaces.cli.audience import narrowed, not_let_in, only, principal_of, standpoint
from everloop.interfaces.cli.output import memory_items
from everloop.interfaces.cli.output.escape import one_line
from everloop.interfaces.cli.output.screen import FAINT, NAME, STRONG, WARNING, Screen, styled
from everloop.interfaces.cli.session import Session
from everloop.memory.browse.queries import handle
from everloop.memory.explain import REASONS
from everloop.memory.retrieval.grouping import Abreast, side_by_side
from everloop.memory.retrieval.results import Answer, Asked, Recalled, Why

MEASURES = {"words": "share of the query terms", "meaning": "similarity"}


def recall(session: Session, args: Namespace) -> None:
    """Search memory and print the results."""
    principal = principal_of(session, args)
    question = question_of(session, args)
    with session.looking() as engine:
        view = standpoint(session, engine, args)
        embed(session, engine, question)
        answer = engine.memory.recall(principal, question, **view)
        notes = [*answer.notes, *not_let_in(engine, principal)]
    groups = side_by_side(answer.hits)
    session.answer(
        {
            "question": question.text,
            "principal": principal,
            "mode": question.mode,
            "hits": answer.hits,
            "contradictory": [[h.item.item_id for h in g.hits] for g in groups if g.contradictory],
            "notes": notes,
        },
        lambda screen: _draw(screen, session, Answer(answer.hits, tuple(notes)), groups, args),
    )


def question_of(session: Session, args: Namespace) -> Asked:
    """The search request that the options describe."""
    return Asked(
        " ".join(args.question), limit=args.limit, mode=args.mode, only=only(session, args)
    )


def embed(session: Session, engine: Engine, question: Asked) -> None:
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
    screen: Screen, session: Session, answer: Answer, groups: list[Abreast], args: Namespace
) -> None:
    question = " ".join(args.question)
    if groups:
        _table(screen, session, groups, question)
    else:
        more = " Try again without filters." if narrowed(args) else ""
        screen.say(f"No matches.{more}")
    if args.explain:
        shown = (hit for group in groups for hit in group.hits)
        for number, hit in enumerate(shown, start=1):
            _draw_score(screen, number, hit)
    if against := [group for group in groups if group.contradictory]:
        newest = all(group.newest_first for group in against)
        first = "the newest" if newest else "the best match"
        screen.say((f"Results marked ≠ contradict each other; {first} comes first.", WARNING))
    screen.notes(answer.notes)


def _table(screen: Screen, session: Session, groups: list[Abreast], question: str) -> None:
    marked = [(hit, group.contradictory) for group in groups for hit in group.hits]
    heads = [_head(number, *each) for number, each in enumerate(marked, start=1)]
    if not screen.wide:
        for head, (hit, _) in zip(heads, marked, strict=True):
            line = Text("  ").join((*head, memory_items.about(hit.item, session.now)))
            screen.line(line)
            screen.line(Text.assemble("    ", memory_items.said(hit.item, session.now, question)))
        return
    screen.table(
        ("##", "id", "when", "scope", "match", "memory"),
        [
            (
                *head,
                styled((memory_items.when(hit.item.happened_at, session.now), FAINT)),
                one_line(hit.item.scope, memory_items.SCOPE_WIDTH),
                styled((hit.source, FAINT)),
                memory_items.said(hit.item, session.now, question),
            )
            for head, (hit, _) in zip(heads, marked, strict=True)
        ],
        cut=True,
    )


def _head(number: int, hit: Recalled, contradictory: bool) -> tuple[Text, Text]:
    mark = ("≠ ", WARNING) if contradictory else ""
    return styled(mark, (str(number), STRONG)), styled((handle(hit.item.item_id), NAME))


def _draw_score(screen: Screen, number: int, hit: Recalled) -> None:
    screen.gap()
    screen.say(
        (str(number), STRONG),
        "  ",
        (hit.item.title, STRONG),
        f"  {hit.why.points:.2f} points",
    )
    screen.table(("", ""), [(styled((name, FAINT)), text) for name, text in reasons(hit.why)])


def reasons(why: Why) -> list[tuple[str, str]]:
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
        ("  boost", f"{REASONS.get(name, name)}: {points:+.2f}") for name, points in why.boosts
    ]
    return [*legs, *boosts]
