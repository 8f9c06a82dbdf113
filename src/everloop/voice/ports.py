"""What placing a call needs from outside: a telephone service."""

from typing import Protocol

import msgspec


class PlacedCall(msgspec.Struct, frozen=True):
    """How placing a call went.

    `outcome` is placed, failed (it was certainly not placed) or uncertain. `status` is the code of
    the service; 0 if it gave none.
    """

    outcome: str
    call_sid: str = ""
    status: int = 0
    reason: str = ""


class Telephone(Protocol):
    """Places calls."""

    def place(self, number: str, answer_url: str, status_url: str) -> PlacedCall:
        """Call a number. The service asks `answer_url` what to do once somebody answers."""
        ...
