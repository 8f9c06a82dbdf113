"""Imports as durable jobs: of conversations into threads, and of files into worlds."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.import_jobs.threads import ImportJob, ImportJobs
    from everloop.import_jobs.world_preview import ImportPreview, preview_import
    from everloop.import_jobs.worlds import WorldImportJob, WorldImportJobs

__all__ = [
    "ImportJob",
    "ImportJobs",
    "ImportPreview",
    "WorldImportJob",
    "WorldImportJobs",
    "preview_import",
]

__getattr__ = lazy_exports(__name__, __file__)
