"""The other nodes that run tasks of the same log: which of them are gone.

Each node holds a claim that has its host's name for as long as it schedules. A node whose claim is
free may be restarting: its processes go on, and it follows them again. Only a node that stayed away
for a while is lost.
"""

from everloop.log import Log
from everloop.log.ownership import Claim
from everloop.ports import Clock

LOOK_EVERY_US = 1_000_000


def scheduling_claim(host: str) -> str:
    """The name of the claim that the scheduler of a host holds."""
    return f"workers.scheduler {host}"


class OtherNodes:
    """What one node knows of the others."""

    def __init__(self, log: Log, clock: Clock, lost_after_s: int) -> None:
        self._log, self._clock = log, clock
        self._lost_after_us = lost_after_s * 1_000_000
        self._free_since: dict[str, int] = {}
        self._looked_at: dict[str, int] = {}

    def is_lost(self, host: str) -> bool:
        """Whether a node has been away for so long that nobody waits for it."""
        now = self._clock.now_us()
        if now - self._looked_at.get(host, -LOOK_EVERY_US) >= LOOK_EVERY_US:
            self._looked_at[host] = now
            self._look(host, now)
        since = self._free_since.get(host)
        return since is not None and now - since >= self._lost_after_us

    def keep_away(self, host: str) -> Claim | None:
        """The claim of a lost node, so that it does not come back meanwhile; None if it did."""
        return self._log.claim(scheduling_claim(host))

    def _look(self, host: str, now: int) -> None:
        claim = self.keep_away(host)
        if claim is None:
            self._free_since.pop(host, None)
            return
        claim.release()
        self._free_since.setdefault(host, now)
