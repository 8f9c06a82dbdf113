"""The conversation domain, as the engine knows it."""

from everloop.domain import Domain
from everloop.thread.deciders import THREAD_DECIDERS
from everloop.thread.policies import POLICIES
from everloop.thread.projections import ThreadNotes, ThreadTables

THREAD = Domain("thread", THREAD_DECIDERS, (ThreadTables, ThreadNotes), POLICIES)
