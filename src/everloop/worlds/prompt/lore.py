"""Which lore entries come into a prompt: those whose keys are mentioned, within a budget.

Text of an entry may mention the keys of others, which then come in, too, to a bounded depth.
Probability, delay, sticky and cooldown of an imported entry are those of its lorebook.
Regular expressions of imported lorebooks run with a time limit.
"""

from collections.abc import Callable, Iterator
from typing import Final

from everloop.worlds.message_parsing import told_text
from everloop.worlds.model.story_events import LoreEntry
from everloop.worlds.prompt.lore_timing import ALWAYS, counts_now, happens, timing_of
from everloop.worlds.prompt.point_of_view import PointOfView
from everloop.worlds.prompt.segments import Segment, Tier

SCAN_MESSAGES: Final = 4
SCAN_MOST: Final = 50
DEPTH_MAX: Final = 3
REGEX_TIMEOUT_S: Final = 0.05
Scans = dict[tuple[int, int], str]  # what was said, by how many messages up to which one


def activate_lore(view: PointOfView, budget: int, count: Callable[[str], int]) -> Iterator[Segment]:
    """The entries that the last messages, the scene or other entries mention."""
    active = _activated(view)
    left = budget
    for entry in sorted(active, key=lambda one: (-one.priority, one.order, one.entry_id)):
        tokens = count(entry.content)
        if tokens <= left:
            left -= tokens
            reason = "always" if entry.constant else "its key was mentioned"
            yield Segment("lore", entry.content, Tier.SHOULD, (), reason, 85)


def _activated(view: PointOfView) -> list[LoreEntry]:
    entries, scans = view.lore, Scans()
    active = {
        one.entry_id: one
        for one in entries
        if one.constant and not one.regex and _may_come(view, one, len(view.messages))
    }
    text = ""
    for depth in range(DEPTH_MAX):
        new = [
            one
            for one in entries
            if one.entry_id not in active
            and one.content
            and (_comes_in(view, one, scans) if depth == 0 else _recurses(view, one, text))
        ]
        if not new and depth:
            break
        first = [*active.values()] if depth == 0 else []
        active |= {one.entry_id: one for one in new}
        text = "\n".join(one.content for one in (*first, *new) if one.recursive)
    return list(active.values())


def _comes_in(view: PointOfView, entry: LoreEntry, scans: Scans) -> bool:
    """Whether the story brings an entry in: it is mentioned, and its timing allows it."""
    upto = len(view.messages)
    timing = timing_of(entry)
    if not upto or not timing.lasts:
        return _is_mentioned(view, entry, upto, scans) and _may_come(view, entry, upto)

    def mentioned(number: int) -> bool:
        heard = _is_mentioned(view, entry, number + 1, scans)
        return heard and _may_come(view, entry, number + 1)

    return counts_now(timing, upto, mentioned)


def _recurses(view: PointOfView, entry: LoreEntry, text: str) -> bool:
    allowed = entry.recursed and _may_come(view, entry, len(view.messages))
    return allowed and _matches(entry, text)


def _is_mentioned(view: PointOfView, entry: LoreEntry, upto: int, scans: Scans) -> bool:
    return _matches(entry, _scanned(view, entry.scan_depth, upto, scans))


def _may_come(view: PointOfView, entry: LoreEntry, upto: int) -> bool:
    """Whether chance and delay let an entry in after so many of the messages in sight."""
    timing = timing_of(entry)
    if timing == ALWAYS:
        return True
    said = view.numbers[upto - 1] + 1 if upto else 0
    newest = view.messages[upto - 1].message_id if upto else view.scene.scene_id
    return said >= timing.delay and happens(entry, newest, timing.probability)


def _scanned(view: PointOfView, depth: int, upto: int, scans: Scans) -> str:
    """The premise and the newest messages; an entry can ask for more or fewer of them."""
    wanted = min(depth, SCAN_MOST) if depth > 0 else SCAN_MESSAGES
    if (wanted, upto) not in scans:
        recent = view.messages[max(0, upto - wanted) : upto]
        told = (told_text(one.passages) for one in recent)
        scans[wanted, upto] = "\n".join([view.premise, *told])
    return scans[wanted, upto]


def _matches(entry: LoreEntry, text: str) -> bool:
    if not any(_mentions(entry, key, text) for key in entry.keys if key):
        return False
    others = [key for key in entry.secondary_keys if key]
    if not others or entry.regex:
        return True
    found = [_mentions(entry, key, text) for key in others]
    match entry.logic:
        case "and_any":
            return any(found)
        case "and_all":
            return all(found)
        case "not_any":
            return not any(found)
        case "not_all":
            return not all(found)


def _mentions(entry: LoreEntry, key: str, text: str) -> bool:
    import regex  # noqa: PLC0415 - only a world with lore needs it, and it loads slowly

    pattern = key if entry.regex else rf"(?<!\w){regex.escape(key)}(?!\w)"
    flags = 0 if entry.case_sensitive else regex.IGNORECASE
    try:
        return regex.search(pattern, text, flags, timeout=REGEX_TIMEOUT_S) is not None
    except (regex.error, TimeoutError):
        return False  # a broken or slow pattern matches nothing
