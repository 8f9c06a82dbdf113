"""The commands about conversations, one row each.

Nothing here imports more than `argparse`, so that help is quick.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.verb import Verb, count, filled, nothing

MODES = ("text", "semantic", "hybrid")
ROLES = ("user", "assistant")
FORMATS = ("markdown", "jsonl")
PAGE = 20
HITS = 10
WHEN = "a date, a time, or words such as `last Tuesday`"


def _chat(parser: ArgumentParser) -> None:
    parser.add_argument("thread", nargs="?", default="home", help="which; by default, home")


def _listed(parser: ArgumentParser) -> None:
    parser.add_argument("--archived", action="store_true", help="also those that were put away")


def _thread(parser: ArgumentParser) -> None:
    parser.add_argument("thread", help="its id or its title")


def _show(parser: ArgumentParser) -> None:
    _thread(parser)
    parser.add_argument(
        "-n", "--limit", type=count, default=PAGE, metavar="N", help="how many messages to show"
    )
    parser.add_argument("--before", metavar="MESSAGE", help="only those before this message")


def _open(parser: ArgumentParser) -> None:
    parser.add_argument("title", nargs="+", help="what to call it")


def _rename(parser: ArgumentParser) -> None:
    _thread(parser)
    parser.add_argument("title", nargs="+", help="what to call it")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("path", help="a zip, a folder or a file, as it was exported")
    parser.add_argument(
        "--into-home", action="store_true", help="all into the home thread, and none of their own"
    )
    parser.add_argument("--preview", action="store_true", help="show what is in it, and stop")


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=filled, help="where to; it is made if it is not there")
    parser.add_argument("threads", nargs="*", metavar="thread", help="which; by default, all")
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="as what")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", help="what to look for")
    parser.add_argument(
        "-n", "--limit", type=count, default=HITS, metavar="N", help="how many to show"
    )
    parser.add_argument("--thread", help="only in this one")
    parser.add_argument("--role", choices=ROLES, help="only what this side said")
    parser.add_argument("--since", metavar="WHEN", help=f"only what was said since then: {WHEN}")
    parser.add_argument("--before", metavar="WHEN", help="only what was said before then")
    parser.add_argument("--mode", choices=MODES, default="hybrid", help="how to look")


THREAD_VERBS: tuple[Verb, ...] = (
    Verb(
        ("chat",),
        "talk",
        "threads.chat",
        "chat",
        _chat,
        "Ctrl-C stops an answer and keeps it; /help lists what else can be done. Without a"
        " terminal, it takes one message from standard input and gives one answer, if you let"
        " `agent:cli` into every scope: an answer is made of all that is remembered.",
    ),
    Verb(
        ("search",),
        "find what was said, by words and meaning",
        "threads.browse",
        "search",
        _search,
    ),
    Verb(("threads",), "list the conversations", "threads.browse", "listed", _listed),
    Verb(("threads", "show"), "show what was said in one", "threads.browse", "show", _show),
    Verb(("threads", "open"), "begin one", "threads.browse", "open_thread", _open),
    Verb(
        ("threads", "rename"),
        "give one another title",
        "threads.browse",
        "rename",
        _rename,
    ),
    Verb(("threads", "archive"), "put one away", "threads.browse", "archive", _thread),
    Verb(("threads", "restore"), "take one out again", "threads.browse", "restore", _thread),
    Verb(
        ("threads", "import"),
        "take in conversations from Claude, ChatGPT, Claude Code or JSONL",
        "threads.transfer",
        "import_chats",
        _import,
        "What is here already is passed over, so it can be broken off and run again. It prints what"
        " takes all of it back. `docs/import.md` says where exports come from.",
    ),
    Verb(
        ("threads", "imports"),
        "list what was imported",
        "threads.transfer",
        "imported",
        nothing,
    ),
    Verb(
        ("threads", "export"),
        "write conversations as Markdown or JSONL",
        "threads.transfer",
        "export_chats",
        _export,
        "JSONL can be imported again and gives the same messages.",
    ),
)

THREAD_GROUPS: dict[str, str] = {"threads": "keep conversations, carry them in and out"}
