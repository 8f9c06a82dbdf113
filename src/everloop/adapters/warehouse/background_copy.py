"""Keeps the copy of the log in a warehouse up to date while a server runs."""

from collections.abc import Callable
from pathlib import Path

from everloop.background.task import BackgroundTask
from everloop.errors import Unavailable
from everloop.log import Log, WarehouseSync
from everloop.log.ownership import Claim
from everloop.log.transfer.warehouse import SinkLimits, Warehouse


class WarehouseCopyTask(BackgroundTask):
    """Copies new records every `follow_s` seconds, in one process of all that have the log open.

    `connect` opens the warehouse. It is called again after a failure, which is the task's problem
    until the copy goes on.
    """

    def __init__(self, log: Log, connect: Callable[[], Warehouse], limits: SinkLimits) -> None:
        super().__init__(log, "warehouse copy", self._work, claim="warehouse.copy")
        self._connect = connect
        self._limits = limits

    def _work(self, claim: Claim) -> None:
        copy = WarehouseSync(self._log, self._connect(), self._limits)
        while claim.held and not self.over:
            copied = copy.catch_up()
            self.progress = (copied.head, self._log.head)
            self.stopping.wait(self._limits.follow_s)


def connect_bigquery(path: Path, limits: SinkLimits) -> Warehouse:
    """Open the table of the log at `path` in the dataset that the settings name.

    Raises:
        Unavailable: Google's library is not installed.
    """
    try:
        from everloop.adapters.warehouse.bigquery import (  # noqa: PLC0415 - needs an extra
            open_bigquery,
        )
    except ImportError as problem:
        raise Unavailable(
            "sink.bigquery is set, but the Google Cloud client is not installed",
            hint="Install it: pip install 'everloop[bigquery]'.",
        ) from problem
    return open_bigquery(limits.bigquery, copy_table(path), limits)


def copy_table(path: Path) -> str:
    """The name of the table: `log`, or `log_TENANT` for the log of another tenant."""
    folder = path.parent
    return f"log_{folder.name}" if folder.parent.name == "tenants" else "log"
