"""The access domain, as the engine knows it. It is small enough to need no view."""

from everloop.access.deciders import ACCESS_DECIDERS
from everloop.domain import Domain

ACCESS = Domain("access", ACCESS_DECIDERS)
