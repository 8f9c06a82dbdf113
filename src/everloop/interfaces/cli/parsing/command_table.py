"""The table of all commands: words, summary, handler and arguments, one row each.

Nothing here imports more than `argparse`. A row names its handler by module and function;
`entry.py` loads it when the command runs, and `docs/cli.md` is generated from the same rows.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.argument_types import (
    CollectPositions,
    parse_count,
    parse_position,
    parse_range,
)
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments
from everloop.interfaces.cli.parsing.crew_commands import CREW_COMMANDS, CREW_GROUPS
from everloop.interfaces.cli.parsing.lesson_commands import LESSON_COMMANDS
from everloop.interfaces.cli.parsing.memory_commands import MEMORY_COMMANDS
from everloop.interfaces.cli.parsing.server_commands import SERVER_COMMANDS
from everloop.interfaces.cli.parsing.thread_commands import THREAD_COMMANDS, THREAD_GROUPS
from everloop.interfaces.cli.parsing.worker_commands import WORKER_COMMANDS, WORKER_GROUPS
from everloop.interfaces.cli.parsing.world_commands import WORLD_COMMANDS, WORLD_GROUPS

LIMIT = 20
FORMATS = ("jsonl", "parquet")
WAREHOUSES = ("bigquery", "parquet")


def _tail(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=LIMIT,
        metavar="N",
        help="number of facts to show",
    )
    parser.add_argument(
        "--before", type=parse_position, metavar="POSITION", help="only facts before this position"
    )
    parser.add_argument("--stream", help="only this stream; `*` matches anything")
    parser.add_argument("--kind", help="only this kind of fact, e.g. `log.*`")
    parser.add_argument("--actor", help="only facts by this actor, e.g. `agent:*`")
    parser.add_argument("--branch", help="read this branch instead of the current one")
    parser.add_argument("--counting", action="store_true", help="hide facts that no longer count")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="keep running and print new facts"
    )


def _show(parser: ArgumentParser) -> None:
    parser.add_argument("position", type=parse_position, help="position of the fact")
    parser.add_argument("--branch", help="read this branch instead of the current one")


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        help="target folder, without `--home`; must not exist yet (default: `everloop-demo`)",
    )


def _note(parser: ArgumentParser) -> None:
    parser.add_argument("text", help="text of the note; `-` reads it from standard input")
    parser.add_argument("--stream", default="notes", help="stream to write to")
    parser.add_argument("--branch", help="write to this branch instead of the current one")
    parser.add_argument(
        "--because",
        type=parse_position,
        nargs="+",
        default=[],
        metavar="POSITION",
        help="facts that it is derived from",
    )
    parser.add_argument(
        "--expected",
        type=parse_position,
        metavar="VERSION",
        help="fail unless the stream has this version",
    )
    parser.add_argument(
        "--request-id",
        metavar="ID",
        help="idempotency key: a request with the same ID is recorded once",
    )


def _fork(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="name of the new branch (default: generated)")
    parser.add_argument("--parent", help="branch to fork from (default: the current one)")
    parser.add_argument(
        "--at",
        type=parse_position,
        metavar="POSITION",
        help="last position that both branches share (default: the newest)",
    )


def _stand(parser: ArgumentParser) -> None:
    parser.add_argument("branch", help="branch to switch to")


def _rewind(parser: ArgumentParser) -> None:
    parser.add_argument("position", type=parse_position, help="last position to keep")
    parser.add_argument("--tree", default="main", help="tree of branches to rewind")
    parser.add_argument("--name", help="name of the new branch (default: generated)")
    _preview(parser)


def _retract(parser: ArgumentParser) -> None:
    parser.add_argument(
        "positions",
        type=parse_range,
        action=CollectPositions,
        nargs="+",
        metavar="position",
        help="position of a fact, or a range such as `11-19`",
    )
    parser.add_argument(
        "--reason", default="no reason given", help="stored in the log, so do not include secrets"
    )
    _preview(parser)


def _preview(parser: ArgumentParser) -> None:
    parser.add_argument("--preview", action="store_true", help="show what would change and exit")


def _archive(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", help="the archive; attachments are stored next to it, in the folder FILE.files"
    )
    parser.add_argument(
        "--format", choices=FORMATS, help="file format (default: by file name extension)"
    )


def _sink(parser: ArgumentParser) -> None:
    parser.add_argument("warehouse", choices=WAREHOUSES, help="type of warehouse")
    parser.add_argument(
        "place",
        metavar="PLACE",
        help="PROJECT.DATASET for bigquery, a folder for parquet; created if missing",
    )
    parser.add_argument(
        "--table",
        metavar="NAME",
        help="table of bigquery (default: `log`, other tenants: `log_TENANT`)",
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="keep copying new facts until interrupted"
    )


def _rebuild(parser: ArgumentParser) -> None:
    parser.add_argument(
        "views", nargs="*", default=[], metavar="view", help="views to rebuild (default: all)"
    )


def _backup(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--folder",
        help="target folder, which then also gets the attachments (default: `backups` in the data"
        " home)",
    )
    parser.add_argument("--list", action="store_true", help="list existing backups instead")


def _upgrade(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--check", action="store_true", help="only show what would change, and change nothing"
    )


def _restore(parser: ArgumentParser) -> None:
    parser.add_argument("copy", nargs="?", help="backup file (default: the newest)")
    parser.add_argument("--folder", help="folder of backups (default: `backups` in the data home)")


def _move(parser: ArgumentParser) -> None:
    where = "a data home, a log file or a PostgreSQL URL"
    parser.add_argument("source", help=f"{where}")
    parser.add_argument("target", help=f"{where}; must be empty or a partial copy of the source")


def _rpc(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as",
        dest="host",
        default="rpc",
        metavar="NAME",
        help="name of the host, recorded as `agent:NAME`",
    )
    parser.add_argument(
        "--socket",
        metavar="PATH",
        help="serve many clients on a Unix socket instead of standard input",
    )


COMMANDS: tuple[CommandSpec, ...] = (
    *THREAD_COMMANDS,
    *MEMORY_COMMANDS,
    *LESSON_COMMANDS,
    *CREW_COMMANDS,
    CommandSpec(("log", "tail"), "show the newest facts", "log.read", "tail", _tail),
    CommandSpec(
        ("log", "show"),
        "show a fact, its sources and what was derived from it",
        "log.read",
        "show",
        _show,
    ),
    CommandSpec(("log", "note"), "add a note", "log.write", "note", _note),
    CommandSpec(
        ("log", "branches"),
        "show the branches as a tree",
        "log.read",
        "branches",
        no_arguments,
    ),
    CommandSpec(("log", "fork"), "create a branch", "log.write", "fork", _fork),
    CommandSpec(("log", "stand"), "switch to a branch", "log.write", "stand", _stand),
    CommandSpec(
        ("log", "rewind"),
        "go back to a position; later facts stay on the old branch",
        "log.write",
        "rewind",
        _rewind,
    ),
    CommandSpec(
        ("log", "retract"),
        "undo facts and everything derived from them",
        "log.write",
        "retract",
        _retract,
        "A retraction is itself a fact: retract its position to undo it.",
    ),
    CommandSpec(
        ("log", "purge"),
        "permanently erase facts and everything derived from them",
        "log.purge",
        "purge",
        _retract,
        "Removes the text from the log, all views and all snapshots. Tombstones stay, so the hash"
        " chain can still be verified. Earlier backups and exports still contain the text.",
    ),
    CommandSpec(
        ("log", "scrub"),
        "rewrite the log file so that no erased data remains in it",
        "log.purge",
        "scrub",
        no_arguments,
        "Every purge does this automatically. Run it only if a purge tells you to.",
    ),
    CommandSpec(
        ("log", "export"),
        "export the whole log to an archive",
        "log.archive",
        "export",
        _archive,
    ),
    CommandSpec(
        ("log", "import"),
        "import an archive into an empty log",
        "log.archive",
        "import_archive",
        _archive,
        "Every digest is checked; nothing after the first invalid line is imported. Run it again to"
        " resume an interrupted import.",
    ),
    CommandSpec(
        ("log", "sink"),
        "copy the whole log to BigQuery or Parquet files for queries",
        "log.sink",
        "sink",
        _sink,
        "Run it again to update the copy; purged facts are erased there too."
        " See `docs/warehouse.md` and `docs/bigquery.md`.",
    ),
    CommandSpec(
        ("verify",),
        "verify every digest of the log and report damage",
        "maintenance.verify",
        "verify",
        no_arguments,
    ),
    CommandSpec(
        ("rebuild",),
        "rebuild views from the log",
        "maintenance.verify",
        "rebuild_views",
        _rebuild,
    ),
    CommandSpec(
        ("backup",),
        "back up the log, even while it is in use, and verify the copy",
        "maintenance.backup",
        "backup",
        _backup,
    ),
    CommandSpec(
        ("upgrade",),
        "show what this version changes in the data home; back up, then change it",
        "maintenance.upgrade",
        "upgrade",
        _upgrade,
        "Opening the data home with a newer version does the same by itself, after a backup if the"
        " log's table changes. Records are never rewritten. See `docs/install.md`.",
    ),
    CommandSpec(
        ("restore",),
        "replace the log with a backup",
        "maintenance.backup",
        "restore",
        _restore,
    ),
    CommandSpec(
        ("move",),
        "copy a log to another store and verify it",
        "log.archive",
        "move",
        _move,
        "Run it again to resume an interrupted copy. The source is not changed.",
    ),
    CommandSpec(
        ("rpc",),
        "start a JSON-RPC 2.0 server, one JSON value per line",
        "",
        "serve",
        _rpc,
        "Responses go to standard output, log messages to standard error. The server stops when its"
        " input ends. See `docs/rpc.md` for the methods.",
    ),
    CommandSpec(
        ("doctor",),
        "check the installation and suggest fixes",
        "maintenance.doctor",
        "doctor",
        no_arguments,
    ),
    *WORKER_COMMANDS,
    *WORLD_COMMANDS,
    *SERVER_COMMANDS,
    CommandSpec(
        ("settings",),
        "list all settings and their values",
        "maintenance.doctor",
        "settings",
        no_arguments,
    ),
    CommandSpec(
        ("tour",),
        "see how the log works, in a temporary folder",
        "maintenance.tour",
        "tour",
        no_arguments,
    ),
    CommandSpec(
        ("demo",),
        "create a data home with a year of sample data",
        "maintenance.demo",
        "demo",
        _demo,
    ),
)

GROUPS: dict[str, str] = {
    "memories": "list, show, export and import memories",
    "import": "import the data of another program",
    "hosts": "manage which hosts you trust to report your feedback",
    "devices": "list, rename and sign out devices",
    "service": "keep the server running, as a service of the operating system",
    "models": "list models, and allow what was found on this machine",
    "grants": "manage who can read memory, and which scopes",
    "lessons": "manage lessons: rules that agents propose and evidence has to support",
    "voice": "list telephone calls, check the telephone, ask to be called",
    **CREW_GROUPS,
    **THREAD_GROUPS,
    **WORKER_GROUPS,
    **WORLD_GROUPS,
    "log": "read, branch, undo, export and import the log",
}
