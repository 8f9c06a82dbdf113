"""`everloop log export`, `log import` and `move`: copy the whole log to archives and stores.

Attachments are copied too; those of an archive are in a folder next to it.
"""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

from everloop.adapters import CopyResult
from everloop.app import Engine
from everloop.errors import Conflict, NotFound, Unavailable
from everloop.interfaces.cli import fact_tables, message_files
from everloop.interfaces.cli.audience import check_can_read_everything
from everloop.interfaces.cli.output.exit_codes import DECLINED
from everloop.interfaces.cli.output.screen import BOLD, GOOD, Screen
from everloop.interfaces.cli.parsing.command_table import FORMATS
from everloop.interfaces.cli.permissions import require_user
from everloop.interfaces.cli.session import Session
from everloop.log import Log, export_jsonl, import_jsonl, move_log, require_readable_file
from everloop.ports import Progress
from everloop.stores import is_postgres_url, log_path

JSONL, PARQUET = FORMATS
Transfer = Callable[[Log, Path, Progress | None], int]


def export(session: Session, args: Namespace) -> int | None:
    """Export the whole log to an archive, for someone who may read all of it.

    Raises:
        Forbidden: the actor may not read everything that is recorded.
    """
    path = Path(args.file)
    transfer = export_jsonl if _format(args) == JSONL else _parquet_export()
    replaced = path.exists()
    if replaced and not session.confirm(
        lambda screen: screen.paragraph((f"{path} already exists.", BOLD)), "Overwrite it?"
    ):
        return DECLINED
    carried = CopyResult()
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        with session.progress("exporting") as progress:
            records = transfer(engine.log, path, progress)
        if path.is_file():
            files = message_files.archive_files(path)
            carried = message_files.copy_attachments(session, engine, engine.files, files)
            if replaced:
                message_files.erase_unreferenced(engine, files)
    size = path.stat().st_size

    def draw(screen: Screen) -> None:
        summary = f" {fact_tables.plural(records, 'record')} to {path} ({size:,} bytes)."
        screen.paragraph(("Exported", GOOD), summary)
        message_files.draw_attachments(screen, carried)

    shape = {"file": path, "format": _format(args), "records": records, "bytes": size}
    session.print_result(shape | message_files.attachments_json(carried), draw)
    return None


def import_archive(session: Session, args: Namespace) -> int | None:
    """Import an archive into an empty log, or resume an interrupted import.

    Raises:
        Forbidden: not at a terminal; the records of an archive may speak as the user.
    """
    require_user(session, "import a log")
    path = Path(args.file)
    transfer = import_jsonl if _format(args) == JSONL else _parquet_import()
    require_readable_file(path)
    with session.open_engine() as engine:
        head = engine.log.head

        def preview(screen: Screen) -> None:
            screen.paragraph((f"Importing {path} into {engine.log.file.path}", BOLD))
            screen.paragraph(
                f"The log has {fact_tables.plural(head, 'record')}; an archive goes into an empty"
                " log only. A damaged archive is rejected."
            )
            screen.paragraph(
                "Whoever wrote the archive chose who speaks in it: your words, the devices that"
                " are signed in and the hosts that you trust will be those of the archive."
            )

        if not session.confirm(preview, "Import it?"):
            return DECLINED
        with session.progress("importing") as progress:
            records = transfer(engine.log, path, progress)
        carried = message_files.copy_attachments(
            session, engine, message_files.archive_files(path), engine.files
        )
        now = engine.log.head

    def draw(screen: Screen) -> None:
        summary = f" {fact_tables.plural(records, 'record')}; the log now has"
        screen.paragraph(("Imported", GOOD), f"{summary} {fact_tables.plural(now, 'record')}.")
        message_files.draw_attachments(screen, carried)

    shape = {"file": path, "format": _format(args), "records": records, "head": now}
    session.print_result(shape | message_files.attachments_json(carried), draw)
    return None


def move(session: Session, args: Namespace) -> None:
    """Copy a log to another store; records that it already has are not copied again.

    Raises:
        Forbidden: not at a terminal; the copied records may speak as the user.
    """
    require_user(session, "move a log")
    if args.source == args.target:
        raise Conflict("source and target are the same", hint="Give two different locations.")
    _check_source(session, args.source)
    with _engine(session, args.source) as source, _engine(session, args.target) as target:
        with session.progress("copying") as progress:
            records = move_log(source.log, target.log, progress)
        head = target.log.head
        fallbacks = (
            message_files.backup_files(source.log.file.path.parent),
            message_files.home_files(session),
        )
        carried = message_files.copy_attachments(
            session, source, source.files, target.files, *fallbacks
        )

    def draw(screen: Screen) -> None:
        screen.advice(
            ("Copied", GOOD),
            f" {fact_tables.plural(records, 'record')}; the target now has"
            f" {fact_tables.plural(head, 'record')}, and all digests match."
            " To use it, set `store` or `home`; see `everloop settings`.",
        )
        message_files.draw_attachments(screen, carried)

    session.print_result(
        {"records": records, "head": head} | message_files.attachments_json(carried), draw
    )


def _check_source(session: Session, where: str) -> None:
    """Check that the source exists, since opening it would create an empty log."""
    if is_postgres_url(where):
        return
    path = log_path(Path(where).expanduser(), session.tenant)
    if not path.exists():
        raise NotFound(
            f"no log at {path}", hint="Give a data home, a log file or a PostgreSQL URL."
        )


def _engine(session: Session, where: str) -> Engine:
    return Engine.open(where, settings=session.settings, tenant=session.tenant, ports=session.ports)


def _format(args: Namespace) -> str:
    if args.format:
        return str(args.format)
    return PARQUET if Path(args.file).suffix == ".parquet" else JSONL


def _parquet_export() -> Transfer:
    """The Parquet exporter, which needs an optional dependency.

    Raises:
        Unavailable: it is not installed.
    """
    try:
        from everloop.adapters import (  # noqa: PLC0415 - needs an extra
            export_parquet,
        )
    except ImportError as problem:
        raise _no_pyarrow() from problem
    return export_parquet


def _parquet_import() -> Transfer:
    """The Parquet importer, which needs an optional dependency.

    Raises:
        Unavailable: it is not installed.
    """
    try:
        from everloop.adapters import (  # noqa: PLC0415 - needs an extra
            import_parquet,
        )
    except ImportError as problem:
        raise _no_pyarrow() from problem
    return import_parquet


def _no_pyarrow() -> Unavailable:
    return Unavailable(
        "Parquet archives need pyarrow, which is not installed",
        hint="Install it: pip install 'everloop[parquet]'. Or use JSONL.",
    )
