"""The specifications of the commands on conversations: `chat`, `search`, `usage` and `threads`.

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.argument_types import parse_count, parse_non_empty
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments

MODES = ("text", "semantic", "hybrid")
ROLES = ("user", "assistant")
FORMATS = ("markdown", "jsonl")
PERIODS = ("day", "week", "month")
PAGE = 20
HITS = 10
WHEN = "a date, a time, or an expression such as `last Tuesday`"


def _chat(parser: ArgumentParser) -> None:
    parser.add_argument("thread", nargs="?", default="home", help="conversation (default: home)")


def _list(parser: ArgumentParser) -> None:
    parser.add_argument("--archived", action="store_true", help="include archived conversations")


def _thread(parser: ArgumentParser) -> None:
    parser.add_argument("thread", help="ID or title of the conversation")


def _show(parser: ArgumentParser) -> None:
    _thread(parser)
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=PAGE,
        metavar="N",
        help="number of messages to show",
    )
    parser.add_argument("--before", metavar="MESSAGE", help="only messages before this one")


def _open(parser: ArgumentParser) -> None:
    parser.add_argument("title", nargs="+", help="title of the conversation")


def _rename(parser: ArgumentParser) -> None:
    _thread(parser)
    parser.add_argument("title", nargs="+", help="new title")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("path", help="exported zip file, folder or file")
    parser.add_argument(
        "--into-home",
        action="store_true",
        help="import everything into the home conversation instead of separate ones",
    )
    parser.add_argument(
        "--preview", action="store_true", help="show what the export contains and exit"
    )


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=parse_non_empty, help="target folder; created if missing")
    parser.add_argument(
        "threads",
        nargs="*",
        default=[],
        metavar="thread",
        help="conversations to export (default: all)",
    )
    parser.add_argument("--format", choices=FORMATS, default=FORMATS[0], help="file format")


def _search(parser: ArgumentParser) -> None:
    parser.add_argument("words", nargs="+", help="search query")
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=HITS,
        metavar="N",
        help="number of results to show",
    )
    parser.add_argument("--thread", help="only this conversation")
    parser.add_argument("--role", choices=ROLES, help="only messages of this role")
    parser.add_argument("--since", metavar="WHEN", help=f"only messages since then: {WHEN}")
    parser.add_argument("--before", metavar="WHEN", help="only messages before then")
    parser.add_argument("--mode", choices=MODES, default="hybrid", help="search mode")


def _usage(parser: ArgumentParser) -> None:
    parser.add_argument("--by", choices=PERIODS, default="week", help="period of a row")
    parser.add_argument(
        "-n", "--limit", type=parse_count, default=PAGE, metavar="N", help="number of rows to show"
    )


THREAD_COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(
        ("chat",),
        "chat with a model",
        "threads.chat",
        "chat",
        _chat,
        "Ctrl-C stops an answer and keeps the part already received; /help lists the commands."
        " Without a terminal, it reads one message from standard input and prints one answer. An"
        " answer may use everything in memory, so this needs access to all scopes for"
        " `agent:cli`.",
    ),
    CommandSpec(
        ("search",),
        "search messages by keyword and meaning",
        "threads.browse",
        "search",
        _search,
    ),
    CommandSpec(
        ("usage",),
        "show tokens, cost and time of model calls",
        "threads.usage",
        "usage",
        _usage,
        "`cached` is the share of the input that a service had in its cache of earlier prompts.",
    ),
    CommandSpec(("threads",), "list conversations", "threads.browse", "show_threads", _list),
    CommandSpec(
        ("threads", "show"),
        "show the messages of a conversation",
        "threads.browse",
        "show",
        _show,
    ),
    CommandSpec(
        ("threads", "open"), "start a conversation", "threads.browse", "open_thread", _open
    ),
    CommandSpec(
        ("threads", "rename"),
        "rename a conversation",
        "threads.browse",
        "rename",
        _rename,
    ),
    CommandSpec(
        ("threads", "archive"), "archive a conversation", "threads.browse", "archive", _thread
    ),
    CommandSpec(
        ("threads", "restore"),
        "restore an archived conversation",
        "threads.browse",
        "restore",
        _thread,
    ),
    CommandSpec(
        ("threads", "pin"),
        "pin a conversation: it is listed first",
        "threads.browse",
        "pin",
        _thread,
    ),
    CommandSpec(
        ("threads", "delete"),
        "delete a conversation and everything derived from it; it prints the command to undo it",
        "threads.browse",
        "delete",
        _thread,
    ),
    CommandSpec(("threads", "unpin"), "unpin a conversation", "threads.browse", "unpin", _thread),
    CommandSpec(
        ("threads", "import"),
        "import conversations from Claude, ChatGPT, Claude Code or JSONL",
        "threads.transfer",
        "import_chats",
        _import,
        "Messages that were imported before are skipped, so an interrupted import can be run again."
        " At the end it prints the command that undoes the import. See `docs/import.md` for how to"
        " get an export.",
    ),
    CommandSpec(
        ("threads", "imports"),
        "list imports",
        "threads.transfer",
        "list_imports",
        no_arguments,
    ),
    CommandSpec(
        ("threads", "export"),
        "export conversations as Markdown or JSONL",
        "threads.transfer",
        "export_chats",
        _export,
        "JSONL can be imported again without loss.",
    ),
)

THREAD_GROUPS: dict[str, str] = {"threads": "manage, import and export conversations"}
