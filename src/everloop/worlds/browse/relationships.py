"""Relationships over time: what each felt towards each other at the end of every scene."""

import msgspec

from everloop.log import Reader
from everloop.worlds.model import events as e
from everloop.worlds.model.state import World
from everloop.worlds.model.values import FEELING_MAX, Edge, edge_key
from everloop.worlds.queries import timeline

KINDS = ("scene_opened", "edge_shifted", "edge_rewritten", "group_rewritten")


class EdgeChange(msgspec.Struct, frozen=True):
    """One change of an edge; `because` of a message, if the log says so."""

    position: int
    edge: str
    affinity: int
    trust: int
    text: str


class RelationshipsThen(msgspec.Struct, frozen=True):
    """All edges at the end of a scene, and what changed in it. Number 0 is before the first."""

    scene_id: str
    number: int
    edges: dict[str, Edge]
    group: str
    changes: tuple[EdgeChange, ...]


def relationship_history(reader: Reader, world_id: str) -> list[RelationshipsThen]:
    """The relationships of a world, scene by scene; the last entry is how they are now."""
    edges: dict[str, Edge] = {}
    group, history = "", list[RelationshipsThen]()
    for one in timeline(reader, world_id, KINDS):
        match one.event:
            case e.SceneOpened(scene_id=scene_id):
                number = history[-1].number + 1 if history else 1
                history.append(RelationshipsThen(scene_id, number, dict(edges), group, ()))
                continue
            case e.EdgeShifted() as shift:
                change = _shift(edges, one.position, shift)
            case e.EdgeRewritten() as told:
                change = _rewrite(edges, one.position, told)
            case e.GroupRewritten(summary=summary):
                group = summary
                change = EdgeChange(one.position, "", 0, 0, summary)
            case _:
                continue
        if not history:
            history.append(RelationshipsThen("", 0, {}, "", ()))
        history[-1] = msgspec.structs.replace(
            history[-1], edges=dict(edges), group=group, changes=(*history[-1].changes, change)
        )
    return history


def edges_of(world: World) -> dict[str, Edge]:
    """Every edge between those who are in the world now: two of one character, six of two."""
    return {
        edge_key(source, target): world.edge(source, target)
        for source in world.people
        for target in world.people
        if source != target
    }


def _shift(edges: dict[str, Edge], position: int, shift: e.EdgeShifted) -> EdgeChange:
    key = edge_key(shift.source, shift.target)
    edge = edges.get(key, Edge())
    edges[key] = msgspec.structs.replace(
        edge,
        affinity=_bounded(edge.affinity + shift.affinity),
        trust=_bounded(edge.trust + shift.trust),
    )
    return EdgeChange(position, key, shift.affinity, shift.trust, shift.reason)


def _rewrite(edges: dict[str, Edge], position: int, told: e.EdgeRewritten) -> EdgeChange:
    key = edge_key(told.source, told.target)
    edge = edges.get(key, Edge())
    edges[key] = msgspec.structs.replace(edge, summary=told.summary, facts=told.facts)
    return EdgeChange(position, key, 0, 0, told.summary)


def _bounded(feeling: int) -> int:
    return max(-FEELING_MAX, min(FEELING_MAX, feeling))
