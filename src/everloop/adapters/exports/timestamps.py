"""Timestamps of exports: ISO 8601 with a time zone, or Unix seconds."""

from datetime import UTC, datetime
from typing import Any

from everloop.errors import Invalid
from everloop.thread.model.decide_imports import said_at


def at_moment(written: Any) -> str:
    """Convert a timestamp to ISO 8601 in UTC.

    Raises:
        Invalid: it is not a timestamp.
    """
    if isinstance(written, int | float) and not isinstance(written, bool):
        try:
            at = datetime.fromtimestamp(written, UTC)
        except (ValueError, OverflowError, OSError):
            raise Invalid(f"{written!r} is not a time") from None
        return said_at(at.isoformat()).isoformat()
    if not isinstance(written, str):
        raise Invalid(f"{written!r} is not a time")
    return said_at(written.strip()).astimezone(UTC).isoformat()
