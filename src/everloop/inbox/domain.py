"""The inbox domain, as the engine knows it."""

from everloop.domain import Domain
from everloop.inbox.deciders import INBOX_DECIDERS
from everloop.inbox.projection import InboxTable

INBOX = Domain("inbox", INBOX_DECIDERS, (InboxTable,))
