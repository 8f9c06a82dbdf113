"""A naive reference model of the gate: plain lists, no positions, no projections, no shared code.

It is told what happened, and says whether a lesson may be promoted then.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from everloop.log import Context

DAY = timedelta(hours=24)


@dataclass
class Wording:
    """Words of a lesson: whose, of which run, since when, and after how many other things."""

    text: str
    by: Context
    at: datetime
    order: int


@dataclass
class NaiveItem:
    """A memory: all who wrote at it, what it was made from, and when it was last changed."""

    hands: list[Context]
    order: int
    sources: tuple[str, ...] = ()
    gone: bool = False


@dataclass
class NaiveLesson:
    """A lesson and all that was said of it."""

    words: list[Wording]
    cites: set[str]
    uses: set[tuple[str, str, str, str]] = field(default_factory=set[tuple[str, str, str, str]])
    praise: list[tuple[str, Context, str, bool]] = field(
        default_factory=list[tuple[str, Context, str, bool]]
    )
    blame: set[str] = field(default_factory=set[str])
    verdicts: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    told: tuple[str, str, bool] | None = None
    gone: bool = False

    @property
    def text(self) -> str:
        """Its words as they are now."""
        return self.words[-1].text


@dataclass
class NaiveWorld:
    """Everything there is."""

    items: dict[str, NaiveItem] = field(default_factory=dict[str, NaiveItem])
    lessons: dict[str, NaiveLesson] = field(default_factory=dict[str, NaiveLesson])
    trusted: set[str] = field(default_factory=set[str])

    def open(self, name: str, now: datetime) -> bool:
        """Whether the gate should be open for a lesson."""
        lesson = self.lessons[name]
        return (
            not lesson.gone
            and now - lesson.words[-1].at >= DAY
            and _used(lesson)
            and not lesson.blame
            and self._supported(lesson)
            and _told(lesson)
            and any(self._stands_on(lesson, item) for item in lesson.cites)
            and [passed for text, passed in lesson.verdicts if text == lesson.text][-1:] != [False]
        )

    def _supported(self, lesson: NaiveLesson) -> bool:
        """Someone outside says that these very words are good."""
        if (lesson.text, True) in lesson.verdicts:
            return True
        if any(wording.by.actor == "user" for wording in lesson.words):
            return False
        return any(
            text == lesson.text and (by.actor == "user" or (heard and self._passed_on(lesson, by)))
            for _, by, text, heard in lesson.praise
        )

    def _passed_on(self, lesson: NaiveLesson, by: Context) -> bool:
        """The user trusts who passes it on, and the run did not write the lesson itself."""
        own = any(_same(by, wording.by) for wording in lesson.words)
        return by.actor in self.trusted and not own

    def _stands_on(self, lesson: NaiveLesson, item: str) -> bool:
        """A memory was there before, and nobody who wrote the lesson had a hand in it."""
        found = self.items.get(item)
        return (
            found is not None
            and not found.gone
            and found.order < lesson.words[-1].order
            and not any(
                _same(hand, wording.by)
                for hand in self._hands(item)
                for wording in lesson.words
                if hand.actor != "user"
            )
        )  # fmt: skip

    def _hands(self, item: str) -> list[Context]:
        found = self.items[item]
        return [*found.hands, *(hand for source in found.sources for hand in self._hands(source))]


def _used(lesson: NaiveLesson) -> bool:
    sessions = [session for _, session, _, text in lesson.uses if text == lesson.text]
    return len(sessions) >= 3 and len({_run(session) for session in sessions} - {""}) >= 2


def _told(lesson: NaiveLesson) -> bool:
    if lesson.told is None or lesson.told[0] != lesson.text:
        return False
    _, confidence, evidenced = lesson.told
    return confidence == "inferred" or (confidence == "observed" and evidenced)


def _same(hand: Context, other: Context) -> bool:
    """Whether two may be the same run: they are, or one is unknown and the name is the same."""
    if hand.session and other.session:
        return _run(hand.session) == _run(other.session)
    return hand.actor == other.actor


def _run(session: str) -> str:
    return session.split("/")[0]
