"""The dialogue of a prompt: lines of the open scene, and how many of them. Pure.

Older lines go by whole chunks, counted from the start of the scene, so that consecutive prompts
begin the same way. They make room for what is told of earlier scenes: late in a story a prompt
tells more of the past, repeats fewer lines, and is about as long as an early one.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from everloop.worlds.message_parsing import told_text
from everloop.worlds.prompt.point_of_view import CHUNK, PointOfView
from everloop.worlds.prompt.segments import DroppedSegment, Segment, Tier
from everloop.worlds.queries import StoryMessage

LAST_MESSAGES: Final = 4
CHUNK_TOKENS: Final = 320  # what a chunk of short messages comes to: two summaries of scenes
GAVE_WAY: Final = "earlier scenes take its place"


class Dialogue(msgspec.Struct, frozen=True):
    """Lines of a scene in a prompt, and older ones that are left out for earlier scenes."""

    lines: tuple[Segment, ...]
    left_out: tuple[DroppedSegment, ...]


def dialogue(
    view: PointOfView, messages_max: int, past_tokens: int, count: Callable[[str], int]
) -> Dialogue:
    """The lines that someone witnessed, with room for so many tokens of earlier scenes."""
    since = _first_number(view, messages_max, past_tokens)
    lines: list[Segment] = []
    left_out: list[DroppedSegment] = []
    for number, line in _lines(view):
        if number >= since or line.tier is Tier.MUST:
            lines.append(line)
        else:
            counted = msgspec.structs.replace(line, tokens=count(line.text))
            left_out.append(DroppedSegment(counted, GAVE_WAY))
    return Dialogue(tuple(lines), tuple(left_out))


def limit_own(
    lines: Sequence[Segment], who: str, most: int, count: Callable[[str], int]
) -> Iterator[Segment]:
    """The dialogue without the speaker's older lines once they come to too much of the prompt.

    What a model wrote is what it writes again; with less of it in sight, it repeats itself less.
    """
    spent, since = 0, 0
    for at in range(len(lines) - 1, -1, -1):
        spent += count(lines[at].text) if lines[at].speaker == who else 0
        if spent > most and lines[at].tier is not Tier.MUST:
            since = -(-(at + 1) // CHUNK) * CHUNK
            break
    for at, one in enumerate(lines):
        if at >= since or one.speaker != who or one.tier is Tier.MUST:
            yield one


def _first_number(view: PointOfView, messages_max: int, past_tokens: int) -> int:
    """The number in the scene of the first line that stays.

    Whatever is told of earlier scenes, half of the messages stay.
    """
    if not view.numbers:
        return 0
    taken = CHUNK * -(-past_tokens // CHUNK_TOKENS)
    most = max(messages_max // 2, messages_max - taken)
    return max(0, -(-(view.numbers[-1] + 1 - most) // CHUNK) * CHUNK)


def _lines(view: PointOfView) -> Iterator[tuple[int, Segment]]:
    """Each line, with its number in the scene."""
    last = len(view.messages) - LAST_MESSAGES
    for at, (number, message) in enumerate(zip(view.numbers, view.messages, strict=True)):
        text = told_text(message.passages)
        if not text:
            continue
        reason = message.learned_via.get(view.who, "saw")
        if at >= last:
            tier, drop = Tier.MUST, 0
        else:
            newer = view.numbers[-1] // CHUNK - number // CHUNK
            tier, drop = Tier.NICE, 700 + min(newer, 190)
        positions = tuple(dict.fromkeys((message.position, message.chosen_at or message.position)))
        yield number, Segment(
            "dialogue", _line(view, message, text), tier, positions, reason, drop,
            speaker=message.speaker,
        )  # fmt: skip


def _line(view: PointOfView, message: StoryMessage, text: str) -> str:
    if message.speaker == view.who:
        return text
    name = view.world.name_of(message.speaker) or "Narrator"
    return f"{name}: {text}"
