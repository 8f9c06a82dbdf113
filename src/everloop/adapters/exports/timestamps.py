"""When something was said, as exports write it: a text with a zone, or seconds since 1970."""

from datetime import UTC, datetime
from typing import Any

from everloop.errors import Invalid
from everloop.thread.model.decide_imports import said_at


def at_moment(written: Any) -> str:
    """A moment in UTC, as the log keeps it.

    Raises:
        Invalid: it is none.
    """
    if isinstance(written, int | float) and not isinstance(written, bool):
        try:
            at = datetime.fromtimestamp(written, UTC)
        except (ValueError, OverflowError, OSError):
            raise Invalid(f"{written!r} is no time") from None
        return said_at(at.isoformat()).isoformat()
    if not isinstance(written, str):
        raise Invalid(f"{written!r} is no time")
    return said_at(written.strip()).astimezone(UTC).isoformat()
