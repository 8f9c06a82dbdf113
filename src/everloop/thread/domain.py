"""The conversation domain, as the engine knows it."""

from everloop.domain import Domain
from everloop.thread.deciders import THREAD_DECIDERS
from everloop.thread.projections import ThreadBook, ThreadNotes

THREAD = Domain("thread", THREAD_DECIDERS, (ThreadBook, ThreadNotes))
