"""Background work: tasks that one process at a time runs for each log."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.background.health import TaskState
    from everloop.background.jobs import JobState, JobStatus

__all__ = ["JobState", "JobStatus", "TaskState"]

__getattr__ = lazy_exports(__name__, __file__)
