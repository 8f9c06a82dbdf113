"""The workers domain, as the engine knows it."""

from everloop.domain import Domain
from everloop.workers.deciders import WORKER_DECIDERS
from everloop.workers.policies import WORKER_POLICIES
from everloop.workers.projection import TaskTable, TranscriptWords

WORKERS = Domain("workers", WORKER_DECIDERS, (TaskTable, TranscriptWords), WORKER_POLICIES)
