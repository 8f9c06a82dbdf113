"""The JSON form of records, receipts and impacts. Scripts rely on the names of these fields."""

from typing import Any

import msgspec

from everloop.log import Impact, Receipt, Record
from everloop.log.model.record import moment, positions
from everloop.log.read.queries import Sighting, Story


def record_of(record: Record) -> dict[str, Any]:
    """A record, with payload and sources decoded instead of JSON inside a string."""
    return {
        "position": record.position,
        "stream": record.stream,
        "branch": record.branch,
        "version": record.version,
        "kind": record.kind,
        "schema": record.schema,
        "data": None if record.data is None else msgspec.json.decode(record.data),
        "actor": record.actor,
        "because": positions(record.because),
        "request_id": record.request_id,
        "recorded_at": moment(record.recorded_us),
        "purged": record.purged,
        "digest": record.digest.hex(),
    }


def sighting_of(sighting: Sighting) -> dict[str, Any]:
    """A record and whether it counts."""
    return {**record_of(sighting.record), "verdict": sighting.verdict}


def receipt_of(receipt: Receipt) -> dict[str, Any]:
    """Where a change was recorded."""
    return {
        "stream": receipt.stream,
        "branch": receipt.branch,
        "version": receipt.version,
        "positions": [fact.position for fact in receipt.facts],
        "request_id": receipt.request_id,
        "repeated": receipt.repeated,
    }


def impact_of(impact: Impact, seen: Impact) -> dict[str, Any]:
    """The visible facts of an impact, and the number of the others."""
    shown = len(seen.hides) + len(seen.restores)
    return {
        "hides": seen.hides,
        "restores": seen.restores,
        "kinds": seen.kinds(),
        "not_shown": len(impact.hides) + len(impact.restores) - shown,
    }


def story_of(story: Story) -> dict[str, Any]:
    """A record with its sources, its dependants, and what hides it."""
    return {
        **sighting_of(story.fact),
        "sources": [sighting_of(one) for one in story.sources],
        "dependants": [sighting_of(one) for one in story.dependants],
        "dependants_count": story.dependants_count,
        "hidden_by": [sighting_of(one) for one in story.hidden_by],
    }
