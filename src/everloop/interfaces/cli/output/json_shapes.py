"""The JSON form of records, receipts and impacts. Scripts rely on the names of these fields."""

from typing import Any

import msgspec

from everloop.log import (
    FactDetails,
    Impact,
    ListedRecord,
    Receipt,
    Record,
    decode_positions,
    from_microseconds,
)


def record_json(record: Record) -> dict[str, Any]:
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
        "because": decode_positions(record.because),
        "request_id": record.request_id,
        "recorded_at": from_microseconds(record.recorded_us),
        "purged": record.purged,
        "digest": record.digest.hex(),
    }


def sighting_json(sighting: ListedRecord) -> dict[str, Any]:
    """A record and whether it counts."""
    return {**record_json(sighting.record), "verdict": sighting.verdict}


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    """Where a change was recorded."""
    return {
        "stream": receipt.stream,
        "branch": receipt.branch,
        "version": receipt.version,
        "positions": [fact.position for fact in receipt.facts],
        "request_id": receipt.request_id,
        "repeated": receipt.repeated,
    }


def impact_json(impact: Impact, seen: Impact) -> dict[str, Any]:
    """The visible facts of an impact, and the number of the others."""
    shown = len(seen.hides) + len(seen.restores)
    return {
        "hides": seen.hides,
        "restores": seen.restores,
        "kinds": seen.hidden_by_kind(),
        "not_shown": len(impact.hides) + len(impact.restores) - shown,
    }


def story_json(story: FactDetails) -> dict[str, Any]:
    """A record with its sources, its dependants, and what hides it."""
    return {
        **sighting_json(story.fact),
        "sources": [sighting_json(one) for one in story.sources],
        "dependants": [sighting_json(one) for one in story.dependants],
        "dependants_count": story.dependants_count,
        "hidden_by": [sighting_json(one) for one in story.hidden_by],
    }
