"""Usage of models by period: calls, tokens, cost and time."""

from typing import Literal

import msgspec

from everloop.log import Reader, visible

Period = Literal["day", "week", "month"]


class PeriodUsage(msgspec.Struct, frozen=True):
    """Usage of one model for one purpose in a period.

    `tokens_cached` are those of `tokens_in` that the service had in its cache; `unpriced` counts
    calls without a known price.
    """

    since: str
    model: str
    purpose: str
    calls: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    cost_usd: float
    unpriced: int
    seconds: float


def usage_by_period(reader: Reader, by: Period, limit: int) -> list[PeriodUsage]:
    """Usage by period, model and purpose, newest first."""
    rows = reader.rows(_USAGE.format(period=_PERIOD[by]), (limit,))
    return [PeriodUsage(*row) for row in rows]


_PERIOD: dict[Period, str] = {
    "day": "date(c.at / 1000000, 'unixepoch')",
    "week": "date(c.at / 1000000, 'unixepoch', '-6 days', 'weekday 1')",
    "month": "strftime('%Y-%m-01', c.at / 1000000, 'unixepoch')",
}
_USAGE = f"""
SELECT {{period}} AS since, c.model, c.purpose, count(*), sum(c.tokens_in), sum(c.tokens_out),
    sum(c.tokens_cached), sum(max(c.cost_usd, 0)), sum(c.cost_usd < 0), sum(c.duration_s)
FROM thread_calls c WHERE {visible("c")}
GROUP BY since, c.model, c.purpose ORDER BY since DESC, c.model, c.purpose LIMIT ?
"""  # noqa: S608 - our own conditions
