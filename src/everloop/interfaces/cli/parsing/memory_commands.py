"""The specifications of the commands on memory: `remember`, `recall`, `memories`, `grants` ...

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.argument_types import parse_count, parse_non_empty
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments

MODES = ("text", "semantic", "hybrid")
LEVELS = ("0", "1", "2", "3")
HITS = 5
PAGE = 20
WHEN = "a date, a time, or an expression such as `last Tuesday`"
UNDO = "At the end it prints the command that undoes the change."


def _remember(parser: ArgumentParser) -> None:
    parser.add_argument("text", nargs="+", help="text to save; `-` reads it from standard input")
    parser.add_argument("--title", default="", help="title (default: the first line)")
    parser.add_argument(
        "--kind",
        type=parse_non_empty,
        default="fact",
        help="kind of memory, e.g. fact, quote or summary",
    )
    parser.add_argument(
        "--scope",
        type=parse_non_empty,
        default="user",
        help="user, global, team:NAME, skill:NAME or project:NAME",
    )
    _witness(parser)
    parser.add_argument(
        "--happened", metavar="WHEN", help=f"when it happened (default: now): {WHEN}"
    )
    parser.add_argument(
        "--until",
        metavar="WHEN",
        help="expiry date; `durable` means never. By default a memory never expires, except notes"
        " that start with HANDOFF, RESUME or TO SHIP, which expire after some days",
    )
    parser.add_argument("--pin", action="store_true", help="pin it: always include it in context")
    _significance(parser, "--significance")


def _revise(parser: ArgumentParser) -> None:
    _item(parser)
    parser.add_argument("--text", help="new text; `-` reads it from standard input")
    parser.add_argument("--title", help="new title")
    parser.add_argument("--scope", help="new scope")
    _witness(parser)
    parser.add_argument(
        "--everyone",
        action="store_true",
        help="remove the witnesses: visible to everyone with access to the scope",
    )
    parser.add_argument(
        "--base",
        type=int,
        metavar="VERSION",
        help="the version you edited; fails if there is a newer one",
    )


def _rate(parser: ArgumentParser) -> None:
    _item(parser)
    _significance(parser, "significance")


def _recall(parser: ArgumentParser) -> None:
    _question(parser)
    parser.add_argument(
        "--explain", action="store_true", help="show how each result was found and scored"
    )


def _explain(parser: ArgumentParser) -> None:
    _item(parser)
    _question(parser)


def _question(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="+", help="question or search query")
    parser.add_argument(
        "-k",
        "--limit",
        type=parse_count,
        default=HITS,
        metavar="N",
        help="number of results to show",
    )
    parser.add_argument(
        "--mode", choices=MODES, default="hybrid", help="search by keyword, by meaning, or both"
    )
    _filter(parser)
    parser.add_argument("--since", metavar="WHEN", help=f"only what happened since then: {WHEN}")
    parser.add_argument("--before", metavar="WHEN", help="only what happened before then")
    _for(parser)
    _as_of(parser)


def _memories(parser: ArgumentParser) -> None:
    _filter(parser)
    parser.add_argument("--pinned", action="store_true", help="only pinned memories")
    parser.add_argument("--retired", action="store_true", help="include retired memories")
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=PAGE,
        metavar="N",
        help="number of memories to show",
    )
    parser.add_argument(
        "--offset", type=int, default=0, metavar="N", help="number of memories to skip"
    )
    _for(parser)
    _as_of(parser)


def _show(parser: ArgumentParser) -> None:
    _item(parser)
    _for(parser)
    _as_of(parser)


def _as_of(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as-of", metavar="POSITION|WHEN", help="show memory as of this position or time"
    )
    parser.add_argument(
        "--branch", type=parse_non_empty, help="read this branch instead of the current one"
    )


def _forget(parser: ArgumentParser) -> None:
    _item(parser)
    parser.add_argument(
        "--reason", default="", help="reason; stored in the log, so do not include secrets"
    )
    parser.add_argument(
        "--force", action="store_true", help="retire it even if something you wrote cites it"
    )
    parser.add_argument(
        "--erase", action="store_true", help="permanently erase its text instead of retiring it"
    )
    _preview(parser)


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=parse_non_empty, help="target folder; created if missing")
    _filter(parser)


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=parse_non_empty, help="folder to import")
    parser.add_argument(
        "--prune", action="store_true", help="retire memories whose files were deleted"
    )
    _preview(parser)


def _allow(parser: ArgumentParser) -> None:
    parser.add_argument("principal", type=parse_non_empty, help="user or agent, e.g. agent:cli")
    parser.add_argument(
        "scopes", nargs="+", metavar="scope", help="exact scope, `project:*`, or `*` for all"
    )


def _principal(parser: ArgumentParser) -> None:
    parser.add_argument("principal", type=parse_non_empty, help="user or agent")


def _item(parser: ArgumentParser) -> None:
    parser.add_argument("item", help="ID of the memory, or a unique ending of it")


def _witness(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--witness",
        type=parse_non_empty,
        action="append",
        default=[],
        metavar="NAME",
        help="restrict it to this user or agent, besides you (repeatable)",
    )


def _significance(parser: ArgumentParser, name: str) -> None:
    parser.add_argument(
        name, choices=LEVELS, help="importance from 0 (routine) to 3 (pivotal); 3 also pins it"
    )


def _filter(parser: ArgumentParser) -> None:
    for name, meaning in (
        ("--scope", "only this scope, e.g. `project:x`, or all of a type, `project:*`"),
        ("--kind", "only this kind"),
    ):
        parser.add_argument(
            name, type=parse_non_empty, action="append", default=[], help=f"{meaning} (repeatable)"
        )


def _for(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="principal",
        type=parse_non_empty,
        metavar="PRINCIPAL",
        help="show what this user or agent can see",
    )


def _preview(parser: ArgumentParser) -> None:
    parser.add_argument("--preview", action="store_true", help="show what would change and exit")


MEMORY_COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(
        ("remember",),
        "save a memory",
        "memory.remember",
        "remember",
        _remember,
        "A near duplicate is linked to the existing memory instead of saved twice. Contradictions"
        " with existing memories are shown.",
    ),
    CommandSpec(
        ("recall",),
        "search memory, best match first",
        "memory.recall",
        "recall",
        _recall,
        "Time expressions in the question narrow the search:"
        " `recall what did I say about the roof last week`.",
    ),
    CommandSpec(
        ("explain",),
        "explain why a memory matches a question, or why not",
        "memory.explain",
        "explain",
        _explain,
    ),
    CommandSpec(
        ("memories",),
        "list memories, newest first",
        "memory.browse",
        "list_memories",
        _memories,
    ),
    CommandSpec(
        ("memories", "show"),
        "show a memory with its fields, sources and versions",
        "memory.browse",
        "show",
        _show,
    ),
    CommandSpec(
        ("memories", "export"),
        "export memories as Markdown files that you can edit",
        "memory.markdown_folder",
        "export",
        _export,
        "Writes one file per memory. Files that you edited are not overwritten: import them first.",
    ),
    CommandSpec(
        ("memories", "import"),
        "import edited Markdown files",
        "memory.markdown_folder",
        "import_folder",
        _import,
        "Edited files become new versions; new files become new memories and get an ID. Deleted"
        " files are only reported unless you pass --prune. If a memory and its file both changed,"
        " the file is reported as a conflict and skipped.",
    ),
    CommandSpec(
        ("zoom",),
        "show the sources that a memory was derived from, as a tree",
        "memory.browse",
        "zoom",
        _show,
    ),
    CommandSpec(
        ("revise",),
        "change the text, scope or witnesses of a memory",
        "memory.revise",
        "revise",
        _revise,
    ),
    CommandSpec(("rate",), "set the importance of a memory", "memory.revise", "rate", _rate, UNDO),
    CommandSpec(("pin",), "pin a memory", "memory.revise", "pin", _item),
    CommandSpec(("unpin",), "unpin a memory", "memory.revise", "unpin", _item),
    CommandSpec(
        ("forget",),
        "retire a memory, or erase it permanently",
        "memory.forget",
        "forget",
        _forget,
        "A retired memory no longer appears in search results. You can still open it by its ID, and"
        " restore it with the command that is printed. Erasing cannot be undone.",
    ),
    CommandSpec(
        ("grants", "list"),
        "list who can read memory, and which scopes",
        "memory.grants",
        "list_grants",
        no_arguments,
    ),
    CommandSpec(
        ("grants", "allow"),
        "allow a user or agent to read scopes",
        "memory.grants",
        "allow",
        _allow,
        "Replaces the scopes granted before.",
    ),
    CommandSpec(
        ("grants", "revoke"),
        "revoke the access of a user or agent",
        "memory.grants",
        "revoke",
        _principal,
    ),
)
