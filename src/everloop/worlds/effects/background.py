"""The background task of worlds: what follows from turns, scenes and jumps is found and made.

What is to be done is what the log lacks: a reply that was not read, a closed scene without a
summary for one of its witnesses, a jump without a memory for someone. So a crash loses nothing, and
what was retracted is made again from what is left.
"""

import threading
from collections.abc import Collection

from everloop.background.task import BackgroundTask
from everloop.log import Fact, Log, Reader, visible
from everloop.log.model.branches import MAIN
from everloop.log.model.facts import BranchStood, Retracted
from everloop.log.ownership import Claim
from everloop.worlds.effects.scenes import SceneEffects
from everloop.worlds.effects.turns import TurnEffects
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import world_stream
from everloop.worlds.queries import TimelineEntry, newest_entries, unread_replies

CLAIM = "worlds.effects"
NEW = (e.VersionChosen, e.SceneClosed, s.TimeJumped, s.EventCompleted)
SITUATION = (s.TimeElided, s.TimeJumped, e.SceneOpened, e.PresenceChanged)
MOVED = (BranchStood, Retracted)  # other facts are in sight now
NEWEST = 20  # newest jumps and events of a world that are looked at
_CLOSED = f"""
SELECT t.world_id, t.scene_id FROM world_timeline t
WHERE t.kind = 'scene_closed' AND t.position > ? AND {visible("t")} ORDER BY t.position
"""  # noqa: S608 - our own condition
_ENDED = f"""
SELECT DISTINCT t.world_id FROM world_timeline t
WHERE t.kind = ? AND t.position > ? AND {visible("t")}
"""  # noqa: S608 - our own condition


# What a retraction hides, or shows again: its facts, and what a retraction among them had hidden.
# A memory of a world lies outside its tree, and was derived from a fact inside.
_TOUCHED = """
WITH RECURSIVE moved(position) AS (
    SELECT ? UNION
    SELECT h.position FROM moved m JOIN log_hidden h ON h.hidden_by = m.position
)
SELECT l.branch FROM moved m JOIN log l ON l.position = m.position
UNION SELECT l.branch FROM moved m JOIN log_because b ON b.dependant = m.position
JOIN log l ON l.position = b.source
"""
_WORLD = world_stream("")


class WorldEffectsTask(BackgroundTask):
    """Makes what follows from play, after it."""

    def __init__(self, log: Log, turns: TurnEffects, scenes: SceneEffects) -> None:
        super().__init__(log, "worlds", self._work, claim=CLAIM)
        self._turns, self._scenes = turns, scenes
        self.idle = threading.Event()  # set while nothing is left to be made

    def catch_up(self, *, after: int = 0, worlds: Collection[str] | None = None) -> int:
        """Make what is missing after a position; returns up to which position it is done.

        Of all worlds, or only of those that are named.
        """
        self.idle.clear()
        with self._log.reading() as reader:
            head = reader.head()
            unread = _only(unread_replies(reader, after), worlds)
            rows = reader.rows(_CLOSED, (after,))
            closed = _only([(row[0], row[1]) for row in rows], worlds)
            jumps = _newest(reader, "time_jumped", after, worlds)
            ended = _newest(reader, "event_completed", after, worlds)
        for world_id, message_id in unread:
            if self.stopping.is_set():
                return after
            self._turns.read_reply(world_id, message_id)
        for world_id, scene_id in closed:
            if self.stopping.is_set():
                return after
            self._turns.read_rest(world_id, scene_id)
            self._scenes.sum_up(world_id, scene_id)
        for world_id, event in ended:
            if self.stopping.is_set():
                return after
            self._scenes.remember_event(world_id, event)
        for world_id, jump in jumps:
            if self.stopping.is_set():
                return after
            self._scenes.remember_jump(world_id, jump)
        self.idle.set()
        return head

    def react(self, fact: Fact, upto: int) -> int:
        """Make what follows from a new fact; returns up to which position all is done."""
        if isinstance(fact.event, SITUATION):
            self._turns.start_due_events(fact.event.world_id, fact.position)
        if isinstance(fact.event, MOVED):
            worlds = self._touched_worlds(fact)
            if worlds is None:
                return self.catch_up()
            if worlds:
                self.catch_up(worlds=worlds)
        elif isinstance(fact.event, NEW) and fact.position > upto:
            return self.catch_up(after=upto)
        return upto

    def _work(self, claim: Claim) -> None:
        upto = self.catch_up()
        for fact in self._log.follow(after=upto, stop=self.stopping):
            if not claim.held:
                return
            upto = self.react(fact, upto)

    def _touched_worlds(self, fact: Fact) -> set[str] | None:
        """The worlds of which other facts are in sight now; None: any of them."""
        if isinstance(fact.event, BranchStood):
            names = [fact.event.branch]
        else:
            with self._log.reading() as reader:
                names = [row[0] for row in reader.rows(_TOUCHED, (fact.position,))]
        branches = self._log.branches
        roots = {branches[name].root for name in names}
        if isinstance(fact.event, BranchStood) and MAIN in roots:
            return None  # memories of every world lie there
        return {root.removeprefix(_WORLD) for root in roots if root.startswith(_WORLD)}


def _only(found: list[tuple[str, str]], worlds: Collection[str] | None) -> list[tuple[str, str]]:
    return [one for one in found if worlds is None or one[0] in worlds]


def _newest(
    reader: Reader, kind: str, after: int, worlds: Collection[str] | None
) -> list[tuple[str, TimelineEntry]]:
    found = [row[0] for row in reader.rows(_ENDED, (kind, after))]
    return [
        (world_id, entry)
        for world_id in found
        if worlds is None or world_id in worlds
        for entry in newest_entries(reader, world_id, kind, limit=NEWEST)
        if entry.position > after
    ]
