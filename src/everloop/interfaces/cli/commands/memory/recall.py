"""`everloop recall`: a question in, a table of items out, best first."""

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

MEASURES = {"words": "share of the question", "meaning": "similarity"}


def recall(session: Session, args: Namespace) -> None:
    """Find what fits a question."""
    principal = principal_of(session, args)
    question = question_of(session, args)
    with session.looking() as engine:
        there = standpoint(session, engine, args)
        embed(session, engine, question)
        answer = engine.memory.recall(principal, question, **there)
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
    """The question as memory takes it."""
    return Asked(
        " ".join(args.question), limit=args.limit, mode=args.mode, only=only(session, args)
    )


def embed(session: Session, engine: Engine, question: Asked) -> None:
    """Make the vectors that items lack, before their meaning is searched: some, if they are many.

    Where that ends the next recall goes on, and the notes say so. What the search reads anyway is
    read first: else all vectors would be looked through, and nothing kept for the next command.
    """
    if question.mode == "text":
        return
    with engine.reading() as reader:
        engine.memory.memory.prepare(reader)
    with session.progress("reading for meaning") as progress:
        engine.memory.embed_briefly(progress)


def _draw(
    screen: Screen, session: Session, answer: Answer, groups: list[Abreast], args: Namespace
) -> None:
    question = " ".join(args.question)
    if groups:
        _table(screen, session, groups, question)
    else:
        more = " Ask without the filter, for all there is." if narrowed(args) else ""
        screen.say(f"Nothing comes to mind.{more}")
    if args.explain:
        shown = (hit for group in groups for hit in group.hits)
        for number, hit in enumerate(shown, start=1):
            _explained(screen, number, hit)
    if against := [group for group in groups if group.contradictory]:
        newest = all(group.newest_first for group in against)
        first = "the newest" if newest else "what fits the question best"
        screen.say((f"≠ contradict each other; {first} comes first.", WARNING))
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
        ("##", "id", "happened", "scope", "found by", "what"),
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


def _explained(screen: Screen, number: int, hit: Recalled) -> None:
    screen.gap()
    screen.say(
        (str(number), STRONG),
        "  ",
        (hit.item.title, STRONG),
        f"  {hit.why.points:.2f} points",
    )
    screen.table(("", ""), [(styled((name, FAINT)), said) for name, said in reasons(hit.why)])


def reasons(why: Why) -> list[tuple[str, str]]:
    """What found an item and what it gained, as pairs of a name and a sentence."""
    legs = [
        (
            f"  {leg.leg}",
            f"rank {leg.rank}, {MEASURES.get(leg.leg, 'similarity')} {leg.similarity:.2f}:"
            f" {leg.points:+.2f}",
        )
        for leg in why.legs
    ]
    gained = [
        ("  more", f"{REASONS.get(name, name)}: {points:+.2f}") for name, points in why.boosts
    ]
    return [*legs, *gained]
