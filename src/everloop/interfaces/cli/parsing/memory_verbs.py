"""The commands about memory, one row each.

Nothing here imports more than `argparse`, so that help is quick.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.verb import Verb, count, filled, nothing

MODES = ("text", "semantic", "hybrid")
LEVELS = ("0", "1", "2", "3")
HITS = 5
PAGE = 20
WHEN = "a date, a time, or words such as `last Tuesday`"
UNDO = "Each of these is a fact, and what it prints at the end takes it back."


def _remember(parser: ArgumentParser) -> None:
    parser.add_argument(
        "text", nargs="+", help="what to remember; `-` reads it from standard input"
    )
    parser.add_argument("--title", default="", help="by default, the first line")
    parser.add_argument(
        "--kind", type=filled, default="fact", help="what it is, such as fact, quote or summary"
    )
    parser.add_argument(
        "--scope",
        type=filled,
        default="user",
        help="user, global, team:NAME, skill:NAME or project:NAME",
    )
    _witness(parser)
    parser.add_argument("--happened", metavar="WHEN", help=f"if not just now: {WHEN}")
    parser.add_argument(
        "--until",
        metavar="WHEN",
        help="how long it holds; by default, and with `durable`, for good, but a note that begins"
        " with HANDOFF, RESUME or TO SHIP for some days",
    )
    parser.add_argument("--pin", action="store_true", help="keep it always at hand")
    _significance(parser, "--significance")


def _revise(parser: ArgumentParser) -> None:
    _item(parser)
    parser.add_argument("--text", help="the new text; `-` reads it from standard input")
    parser.add_argument("--title", help="the new title")
    parser.add_argument("--scope", help="the new scope")
    _witness(parser)
    parser.add_argument(
        "--everyone", action="store_true", help="no witnesses: everyone whom the scope admits"
    )
    parser.add_argument(
        "--base",
        type=int,
        metavar="VERSION",
        help="the version that you saw; if there is a newer one, nothing is changed",
    )


def _rate(parser: ArgumentParser) -> None:
    _item(parser)
    _significance(parser, "significance")


def _recall(parser: ArgumentParser) -> None:
    _question(parser)
    parser.add_argument(
        "--explain", action="store_true", help="say for each hit what found it and what it gained"
    )


def _explain(parser: ArgumentParser) -> None:
    _item(parser)
    _question(parser)


def _question(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="+", help="what you want to know")
    parser.add_argument(
        "-k", "--limit", type=count, default=HITS, metavar="N", help="how many hits to show"
    )
    parser.add_argument(
        "--mode", choices=MODES, default="hybrid", help="search words, meaning, or both"
    )
    _among(parser)
    parser.add_argument("--since", metavar="WHEN", help=f"only what happened from then on: {WHEN}")
    parser.add_argument("--before", metavar="WHEN", help="only what happened before then")
    _for(parser)
    _standpoint(parser)


def _memories(parser: ArgumentParser) -> None:
    _among(parser)
    parser.add_argument("--pinned", action="store_true", help="only what is pinned")
    parser.add_argument("--retired", action="store_true", help="also what was retired")
    parser.add_argument(
        "-n", "--limit", type=count, default=PAGE, metavar="N", help="how many to show"
    )
    parser.add_argument("--offset", type=int, default=0, metavar="N", help="how many to pass over")
    _for(parser)
    _standpoint(parser)


def _look(parser: ArgumentParser) -> None:
    _item(parser)
    _for(parser)
    _standpoint(parser)


def _standpoint(parser: ArgumentParser) -> None:
    parser.add_argument("--as-of", metavar="POSITION|WHEN", help="memory as it stood then")
    parser.add_argument(
        "--branch", type=filled, help="look from this branch instead of where you stand"
    )


def _forget(parser: ArgumentParser) -> None:
    _item(parser)
    parser.add_argument("--reason", default="", help="kept in the log, so say nothing secret")
    parser.add_argument(
        "--force", action="store_true", help="also if something you wrote stands on it"
    )
    parser.add_argument(
        "--erase", action="store_true", help="erase its text for good instead of retiring it"
    )
    _preview(parser)


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=filled, help="where to; it is made if it is not there")
    _among(parser)


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=filled, help="where from")
    parser.add_argument(
        "--prune", action="store_true", help="retire the items whose files were deleted"
    )
    _preview(parser)


def _allow(parser: ArgumentParser) -> None:
    parser.add_argument("principal", type=filled, help="who, e.g. agent:cli")
    parser.add_argument(
        "scopes", nargs="+", metavar="scope", help="exact ones, `project:*`, or `*` for all"
    )


def _principal(parser: ArgumentParser) -> None:
    parser.add_argument("principal", type=filled, help="who")


def _item(parser: ArgumentParser) -> None:
    parser.add_argument("item", help="which item: its id, or as much of its end as is unique")


def _witness(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--witness",
        type=filled,
        action="append",
        default=[],
        metavar="NAME",
        help="who alone may know it, besides you; may be given several times",
    )


def _significance(parser: ArgumentParser, name: str) -> None:
    parser.add_argument(
        name, choices=LEVELS, help="how much it matters, routine to pivotal; 3 pins it by itself"
    )


def _among(parser: ArgumentParser) -> None:
    for name, meaning in (
        ("--scope", "only this scope, `project:x`, or all of a sort, `project:*`"),
        ("--kind", "only this kind"),
    ):
        parser.add_argument(
            name,
            type=filled,
            action="append",
            default=[],
            help=f"{meaning}; may be given several times",
        )


def _for(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="principal",
        type=filled,
        metavar="PRINCIPAL",
        help="look through another's eyes",
    )


def _preview(parser: ArgumentParser) -> None:
    parser.add_argument("--preview", action="store_true", help="show what would change, and stop")


MEMORY_VERBS: tuple[Verb, ...] = (
    Verb(
        ("remember",),
        "take something in",
        "memory.remember",
        "remember",
        _remember,
        "What was said before is linked to the item that says it; what contradicts an item is shown"
        " beside it.",
    ),
    Verb(
        ("recall",),
        "find what fits a question, best first",
        "memory.recall",
        "recall",
        _recall,
        "Time in a question counts: `recall what did I say about the roof last week`.",
    ),
    Verb(
        ("explain",),
        "say why an item is in an answer, or why not",
        "memory.explain",
        "explain",
        _explain,
    ),
    Verb(
        ("memories",),
        "list what is remembered, newest first",
        "memory.browse",
        "listed",
        _memories,
    ),
    Verb(
        ("memories", "show"),
        "show one item: its fields, where it comes from, its versions",
        "memory.browse",
        "show",
        _look,
    ),
    Verb(
        ("memories", "export"),
        "write memories as Markdown files, to read and to edit",
        "memory.markdown_folder",
        "export",
        _export,
        "One file for each item. A file that you edited is left as it is: import it first.",
    ),
    Verb(
        ("memories", "import"),
        "take in what was edited in such a folder",
        "memory.markdown_folder",
        "import_folder",
        _import,
        "Edited files become revisions, new files become new items and get their id; a file that"
        " was deleted is only reported, unless you prune. If an item and its file both changed,"
        " the file is reported and not taken in.",
    ),
    Verb(
        ("zoom",),
        "show what an item was made of, down to its sources",
        "memory.browse",
        "zoom",
        _look,
    ),
    Verb(
        ("revise",),
        "change an item's words, scope or witnesses",
        "memory.revise",
        "revise",
        _revise,
    ),
    Verb(("rate",), "say how much an item matters", "memory.revise", "rate", _rate, UNDO),
    Verb(("pin",), "keep an item always at hand", "memory.revise", "pin", _item),
    Verb(("unpin",), "take the pin off", "memory.revise", "unpin", _item),
    Verb(
        ("forget",),
        "let an item step back, or erase it for good",
        "memory.forget",
        "forget",
        _forget,
        "A retired item is passed over by recall; it can still be opened by its id, and coming back"
        " is one retraction away. Erasing cannot be undone.",
    ),
    Verb(
        ("grants", "list"),
        "show who may ask, and within which scopes",
        "memory.grants",
        "listed",
        nothing,
    ),
    Verb(
        ("grants", "allow"),
        "let a principal ask, within scopes",
        "memory.grants",
        "allow",
        _allow,
    ),
    Verb(
        ("grants", "revoke"),
        "let a principal ask no more",
        "memory.grants",
        "revoke",
        _principal,
    ),
)
