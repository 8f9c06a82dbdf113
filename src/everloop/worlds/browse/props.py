"""The prop ledger: every object of a story, which event brought it, and what became of it."""

from typing import Literal

import msgspec

from everloop.log import Reader
from everloop.worlds.model import story_events as s
from everloop.worlds.model.values import Prop
from everloop.worlds.queries import timeline

PropState = Literal["present", "acquired", "gone"]
KINDS = (
    "event_planned",
    "event_completed",
    "event_cancelled",
    "event_expired",
    "prop_introduced",
    "prop_moved",
    "belonging_dropped",
)


class PropRecord(msgspec.Struct, frozen=True):
    """An object and what became of it. `ended` says why it is gone."""

    prop_id: str
    name: str
    event_id: str
    event: str
    holder: str
    where: str
    state: PropState
    moves: int = 0
    ended: str = ""


def prop_ledger(reader: Reader, world_id: str) -> list[PropRecord]:
    """Every object of a world in the order in which it came in."""
    ledger = _Ledger()
    for one in timeline(reader, world_id, KINDS):
        match one.event:
            case s.EventPlanned(event_id=event_id, title=title):
                ledger.titles[event_id] = title
            case s.PropIntroduced(prop=prop):
                ledger.introduce(prop)
            case s.PropMoved(prop_id=prop_id, holder=holder, where=where):
                ledger.move(prop_id, holder, where)
            case s.EventCompleted(event_id=event_id, acquired=acquired):
                ledger.end(event_id, "completed", acquired)
            case s.EventCancelled(event_id=event_id):
                ledger.end(event_id, "cancelled")
            case s.EventExpired(event_id=event_id):
                ledger.end(event_id, "expired")
            case s.BelongingDropped(holder=holder, name=name):
                ledger.drop(holder, name)
            case _:
                pass
    return list(ledger.props.values())


class _Ledger:
    def __init__(self) -> None:
        self.titles: dict[str, str] = {}
        self.props: dict[str, PropRecord] = {}

    def introduce(self, prop: Prop) -> None:
        self.props[prop.prop_id] = PropRecord(
            prop.prop_id,
            prop.name,
            prop.event_id,
            self.titles.get(prop.event_id, ""),
            prop.holder,
            prop.where,
            "present",
        )

    def move(self, prop_id: str, holder: str, where: str) -> None:
        known = self.props.get(prop_id)
        if known is not None:
            self.props[prop_id] = msgspec.structs.replace(
                known, holder=holder, where=where, moves=known.moves + 1
            )

    def end(self, event_id: str, how: str, acquired: tuple[s.Acquired, ...] = ()) -> None:
        """End an event: what was acquired stays with its holder, everything else is gone."""
        left = list(acquired)
        for known in [one for one in self.props.values() if one.event_id == event_id]:
            kept = next((one for one in left if one.name == known.name), None)
            if kept is not None:
                left.remove(kept)
            self.props[known.prop_id] = (
                msgspec.structs.replace(known, state="acquired", holder=kept.holder, where="")
                if kept
                else msgspec.structs.replace(
                    known, state="gone", holder="", where="", ended=f"the event was {how}"
                )
            )
        for number, each in enumerate(left):  # acquired without having been a prop before
            key = f"{event_id}:{number}"
            title = self.titles.get(event_id, "")
            self.props[key] = PropRecord(
                key, each.name, event_id, title, each.holder, "", "acquired"
            )

    def drop(self, holder: str, name: str) -> None:
        for known in self.props.values():
            if (known.state, known.holder, known.name) == ("acquired", holder, name):
                self.props[known.prop_id] = msgspec.structs.replace(
                    known, state="gone", holder="", ended="no longer theirs"
                )
                return
