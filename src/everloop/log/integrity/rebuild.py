"""Rebuild views from the log. They are derived from it, so nothing can be lost."""

from collections.abc import Sequence

from everloop.errors import NotFound
from everloop.log.log import Log
from everloop.log.model.record import fact_of
from everloop.log.read.reader import Reader
from everloop.ports import Progress

STEP = 1_000


def rebuild_projections(
    log: Log, names: Sequence[str] = (), progress: Progress | None = None
) -> list[str]:
    """Drop views (by default all) and fold them again, in one transaction. Returns their names.

    Raises:
        NotFound: there is no view with that name.
    """
    views = {view.name: view for view in log.file.views.all}
    for name in names:
        if name not in views:
            raise NotFound(f"no view {name!r}", hint=f"The views are: {', '.join(sorted(views))}.")
    chosen = [views[name] for name in names] or list(views.values())

    def act(reader: Reader) -> None:
        head = reader.head()
        for view in chosen:
            log.file.views.reset(reader.db, view)
        for record in reader.records(0, head):
            fact = fact_of(record)
            for view in chosen:
                view.fold(reader.db, fact)
            if progress and record.position % STEP == 0:
                progress(record.position, head)
        log.file.views.mark_current(reader.db, head)
        if progress:
            progress(head, head)

    with log.commit_queue.write_lock:
        log.transactions.transaction(act)
    return [view.name for view in chosen]
