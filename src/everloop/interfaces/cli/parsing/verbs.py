"""Every command of the command line, one row each: its words, what it does, who carries it out.

Nothing here imports more than `argparse`. A row names its module and function; `entry.py` loads
them when the command was chosen, and `docs/cli.md` is made from the same rows.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.capture_verbs import CAPTURE_VERBS
from everloop.interfaces.cli.parsing.crew_verbs import CREW_GROUPS, CREW_VERBS
from everloop.interfaces.cli.parsing.lesson_verbs import LESSON_VERBS
from everloop.interfaces.cli.parsing.memory_verbs import MEMORY_VERBS
from everloop.interfaces.cli.parsing.server_verbs import DOOR_VERBS
from everloop.interfaces.cli.parsing.thread_verbs import THREAD_GROUPS, THREAD_VERBS
from everloop.interfaces.cli.parsing.verb import Spans, Verb, count, nothing, position, span

LIMIT = 20
FORMATS = ("jsonl", "parquet")
WAREHOUSES = ("bigquery",)


def _tail(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-n", "--limit", type=count, default=LIMIT, metavar="N", help="how many to show"
    )
    parser.add_argument(
        "--before", type=position, metavar="POSITION", help="only facts before this position"
    )
    parser.add_argument("--stream", help="only this stream; `*` stands for anything")
    parser.add_argument("--kind", help="only this kind, e.g. `log.*`")
    parser.add_argument("--actor", help="only what this actor caused, e.g. `agent:*`")
    parser.add_argument("--branch", help="look from this branch instead of where you stand")
    parser.add_argument("--counting", action="store_true", help="leave out what no longer counts")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on: show each new fact as it comes"
    )


def _show(parser: ArgumentParser) -> None:
    parser.add_argument("position", type=position, help="which fact")
    parser.add_argument("--branch", help="look from this branch instead of where you stand")


def _demo(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        nargs="?",
        help="where to, if `--home` says nothing; it must not exist yet (default: `everloop-demo`)",
    )


def _note(parser: ArgumentParser) -> None:
    parser.add_argument("text", help="what to note; `-` reads it from standard input")
    parser.add_argument("--stream", default="notes", help="the stream to write to")
    parser.add_argument("--branch", help="write on this branch instead of where you stand")
    parser.add_argument(
        "--because",
        type=position,
        nargs="+",
        default=[],
        metavar="POSITION",
        help="the facts it was derived from",
    )
    parser.add_argument(
        "--expected",
        type=position,
        metavar="VERSION",
        help="refuse unless the stream has this version",
    )
    parser.add_argument(
        "--request-id", metavar="ID", help="a name for this request; repeating it changes nothing"
    )


def _fork(parser: ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the new branch; without it, one is made up")
    parser.add_argument("--parent", help="the branch to leave; by default, where you stand")
    parser.add_argument(
        "--at",
        type=position,
        metavar="POSITION",
        help="the last position it shares; by default, the newest",
    )


def _stand(parser: ArgumentParser) -> None:
    parser.add_argument("branch", help="where to stand")


def _rewind(parser: ArgumentParser) -> None:
    parser.add_argument("position", type=position, help="the last fact that still counts")
    parser.add_argument("--tree", default="main", help="which tree to rewind")
    parser.add_argument("--name", help="the branch to go on with; without it, one is made up")
    _preview(parser)


def _take_back(parser: ArgumentParser) -> None:
    parser.add_argument(
        "positions",
        type=span,
        action=Spans,
        nargs="+",
        metavar="position",
        help="which facts; `11-19` is all from one to another",
    )
    parser.add_argument(
        "--reason", default="no reason given", help="kept in the log, so say nothing secret"
    )
    _preview(parser)


def _preview(parser: ArgumentParser) -> None:
    parser.add_argument("--preview", action="store_true", help="show what would change, and stop")


def _archive(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", help="the archive; files beside messages are in a folder beside it, FILE.files"
    )
    parser.add_argument("--format", choices=FORMATS, help="by default, what the file's name says")


def _sink(parser: ArgumentParser) -> None:
    parser.add_argument("warehouse", choices=WAREHOUSES, help="which kind of warehouse")
    parser.add_argument("place", metavar="PROJECT.DATASET", help="where; made if it is missing")
    parser.add_argument(
        "--table", metavar="NAME", help="by default `log`; for another tenant `log_TENANT`"
    )
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on: copy what comes, until interrupted"
    )


def _rebuild(parser: ArgumentParser) -> None:
    parser.add_argument("views", nargs="*", metavar="view", help="which; by default, all")


def _backup(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--folder",
        help="where to put it, with the files beside messages; by default, `backups` in the data"
        " home, which has them",
    )
    parser.add_argument("--list", action="store_true", help="show the copies there are, make none")


def _restore(parser: ArgumentParser) -> None:
    parser.add_argument("copy", nargs="?", help="a backup; by default, the newest")
    parser.add_argument(
        "--folder", help="where backups are; by default, `backups` in the data home"
    )


def _move(parser: ArgumentParser) -> None:
    where = "a data home, a log file or a PostgreSQL address"
    parser.add_argument("source", help=f"{where}")
    parser.add_argument("target", help=f"{where}; an empty log, or one that an earlier move began")


def _rpc(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--as", dest="host", default="rpc", metavar="NAME", help="the host's name: `agent:NAME`"
    )
    parser.add_argument(
        "--socket", metavar="PATH", help="serve many clients on a Unix socket, not standard input"
    )


VERBS: tuple[Verb, ...] = (
    *THREAD_VERBS,
    *MEMORY_VERBS,
    *LESSON_VERBS,
    *CREW_VERBS,
    Verb(("log", "tail"), "show the newest facts", "log.read", "tail", _tail),
    Verb(
        ("log", "show"),
        "show one fact, its sources and what came of it",
        "log.read",
        "show",
        _show,
    ),
    Verb(("log", "note"), "record a remark", "log.write", "note", _note),
    Verb(
        ("log", "branches"),
        "draw the branches and where you stand",
        "log.read",
        "branches",
        nothing,
    ),
    Verb(("log", "fork"), "begin a branch", "log.write", "fork", _fork),
    Verb(("log", "stand"), "make a branch the present", "log.write", "stand", _stand),
    Verb(
        ("log", "rewind"),
        "go back to a position; the old future stays reachable",
        "log.write",
        "rewind",
        _rewind,
    ),
    Verb(
        ("log", "retract"),
        "make facts, and all derived from them, stop counting",
        "log.write",
        "retract",
        _take_back,
        "A retraction is a fact too: retract its position to undo it.",
    ),
    Verb(
        ("log", "purge"),
        "erase facts, and all derived from them, for good",
        "log.purge",
        "purge",
        _take_back,
        "Their text leaves the log, every view and every snapshot. Tombstones and the proof stay."
        " Backups and exports made earlier still hold it.",
    ),
    Verb(
        ("log", "scrub"),
        "rewrite the file, so that no erased byte is left in it",
        "log.purge",
        "scrub",
        nothing,
        "Every purge does this by itself. It is needed only if a purge said so.",
    ),
    Verb(
        ("log", "export"),
        "write the whole log to an archive",
        "log.archive",
        "export",
        _archive,
    ),
    Verb(
        ("log", "import"),
        "read an archive into an empty log",
        "log.archive",
        "import_archive",
        _archive,
        "The result has the same digests, or nothing is kept of it beyond the first bad line."
        " Run it again to go on after an interruption.",
    ),
    Verb(
        ("log", "sink"),
        "keep a copy of the whole log in a warehouse, to be queried there",
        "log.sink",
        "sink",
        _sink,
        "Run it again to bring the copy up to date; what was purged here is erased there too."
        " `docs/bigquery.md` says more.",
    ),
    Verb(
        ("verify",),
        "recompute every digest; name what is damaged",
        "maintenance.verify",
        "verify_log",
        nothing,
    ),
    Verb(
        ("rebuild",),
        "drop views and fold them again from the log",
        "maintenance.verify",
        "rebuild_views",
        _rebuild,
    ),
    Verb(
        ("backup",),
        "copy the log while it is in use, and check the copy",
        "maintenance.backup",
        "backup",
        _backup,
    ),
    Verb(
        ("restore",),
        "put a backup in place of the log",
        "maintenance.backup",
        "restore",
        _restore,
    ),
    Verb(
        ("move",),
        "copy a log to another store, checked by digest",
        "log.archive",
        "move_log",
        _move,
        "Run it again to go on after an interruption. The source is left as it is.",
    ),
    Verb(
        ("rpc",),
        "serve hosts by JSON-RPC 2.0, one JSON value per line",
        "",
        "serve",
        _rpc,
        "It answers on standard output, logs on standard error, and ends when its input ends."
        " `docs/rpc.md` lists the methods.",
    ),
    Verb(
        ("doctor",),
        "say what is found, what is missing and what to do",
        "maintenance.doctor",
        "doctor",
        nothing,
    ),
    *CAPTURE_VERBS,
    *DOOR_VERBS,
    Verb(
        ("settings",),
        "show every setting and its value",
        "maintenance.doctor",
        "settings",
        nothing,
    ),
    Verb(
        ("tour",),
        "watch an engine at work in a temporary home",
        "maintenance.tour",
        "tour",
        nothing,
    ),
    Verb(
        ("demo",),
        "make a home with a year in it, to look around in",
        "maintenance.demo",
        "demo",
        _demo,
    ),
)

GROUPS: dict[str, str] = {
    "memories": "list what is remembered, look at it closely, carry it out and in",
    "hosts": "say whom you trust to pass on your words",
    "devices": "show and revoke the devices that are let in",
    "grants": "say who may ask, and within which scopes",
    "lessons": "rules that agents propose and that facts have to carry",
    **CREW_GROUPS,
    **THREAD_GROUPS,
    "log": "read, branch, take back and archive the log",
}
