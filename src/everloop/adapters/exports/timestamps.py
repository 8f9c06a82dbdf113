"""Timestamps of exports: ISO 8601 with a time zone, or Unix seconds."""

from datetime import UTC, datetime
from typing import Any

from everloop.errors import Invalid
from everloop.thread.model.decide_imports import parse_timestamp


def to_utc_timestamp(written: Any) -> str:
    """Convert a timestamp to ISO 8601 in UTC.

    Raises:
        Invalid: it is not a timestamp.
    """
    if isinstance(written, int | float) and not isinstance(written, bool):
        try:
            at = datetime.fromtimestamp(written, UTC)
        except (ValueError, OverflowError, OSError):
            raise Invalid(f"{written!r} is not a time") from None
        return parse_timestamp(at.isoformat()).isoformat()
    if not isinstance(written, str):
        raise Invalid(f"{written!r} is not a time")
    return parse_timestamp(written.strip()).astimezone(UTC).isoformat()
