"""How a story begins, read from prose: a proposal that the player confirms or changes.

Without a model, the prose becomes the premise, and characters of the library whose names are in it
are proposed as the cast.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from everloop.errors import Invalid, ModelFailed
from everloop.worlds.effects.read import Readings
from everloop.worlds.effects.schema import OpeningReading
from everloop.worlds.message_parsing import mentions
from everloop.worlds.model.checks import NAME_MAX, TITLE_MAX
from everloop.worlds.model.values import Place
from everloop.worlds.queries import CharacterEntry

CAST_MAX = 2
PROSE_MAX = 20_000
SYSTEM = """\
Read how a story begins. Fill in what the text says and leave out what it does not say.
`characters`: names of those who play besides the player, from this list: {names}.
`clock`: the time as ISO 8601, if the text says when it is. `premise`: the situation in one or two
sentences. `met`: how the characters know the player."""


class OpeningProposal(msgspec.Struct, frozen=True):
    """How a world could begin. `more` are characters that there is no room for."""

    title: str
    player_name: str
    player_description: str
    clock: str
    place: Place
    character_ids: tuple[str, ...]
    premise: str
    weather: str
    met: str
    more: tuple[str, ...] = ()
    read_by: str = "rules"


def propose_opening(
    prose: str, library: Sequence[CharacterEntry], readings: Readings, now: datetime
) -> OpeningProposal:
    """How a world could begin, as a text tells it.

    Raises:
        Invalid: the text is empty or far too long.
    """
    text = prose.strip()
    if not text or len(text) > PROSE_MAX:
        raise Invalid(
            f"an opening has 1 to {PROSE_MAX:,} characters", hint="Write a few sentences."
        )
    reading, read_by = OpeningReading(), "rules"
    if readings.available:
        names = ", ".join(one.sheet.name for one in library) or "nobody yet"
        with suppress(ModelFailed):
            reading = readings.ask(SYSTEM.format(names=names), text, OpeningReading)
            read_by = readings.name
    named = [one.character_id for one in library if mentions(text, one.sheet.name)]
    chosen = [
        one.character_id
        for one in library
        for name in reading.characters
        if name.casefold() == one.sheet.name.casefold()
    ]
    cast = list(dict.fromkeys((*chosen, *named)))
    place = reading.place.name or "Where it begins"
    return OpeningProposal(
        title=(reading.title or _first_words(text))[:TITLE_MAX],
        player_name=(reading.player_name or "You")[:NAME_MAX],
        player_description=reading.player_description,
        clock=_clock(reading.clock, now),
        place=Place("start", place[:NAME_MAX], reading.place.description),
        character_ids=tuple(cast[:CAST_MAX]),
        premise=reading.premise or text,
        weather=" ".join(reading.weather.split()),
        met=reading.met,
        more=tuple(cast[CAST_MAX:]),
        read_by=read_by,
    )


def _first_words(text: str) -> str:
    return " ".join(re.split(r"[.!?\n]", text, maxsplit=1)[0].split()[:8])


def _clock(told: str, now: datetime) -> str:
    with suppress(ValueError):
        moment = datetime.fromisoformat(told)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
    return now.astimezone(UTC).replace(minute=0, second=0, microsecond=0).isoformat()
