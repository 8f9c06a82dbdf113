"""How much talk the pretrigger turns away: `python -m bench.pretrigger FILE`, of the LoCoMo shape.

Ordinary talk between people praises and blames all the time, and none of it is about a lesson: what
is let through here would cost a model's call each. The data is read by path and never copied.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
from rich.console import Console

from everloop.lessons.feedback.pretrigger import may_contain_feedback
from everloop.lessons.feedback.settings import FeedbackSettings


class Turn(msgspec.Struct, frozen=True):
    """One thing that somebody said."""

    text: str


def turned_away(texts: Sequence[str], short_words: int) -> float:
    """The share of turns that no model is asked about."""
    through = sum(may_contain_feedback(text, short_words=short_words) for text in texts)
    return 1 - through / len(texts)


def turns(document: list[dict[str, Any]]) -> list[str]:
    """What was said in a file of the LoCoMo shape."""
    found = [value for sample in document for value in sample["conversation"].values()]
    talks = [msgspec.convert(talk, list[Turn]) for talk in found if isinstance(talk, list)]
    return [turn.text for talk in talks for turn in talk]


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the share for some lengths of a short turn; the one that is set is marked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    asked = parser.parse_args(arguments)
    said = turns(msgspec.json.decode(asked.file.read_bytes(), type=list[dict[str, Any]]))
    console = Console()
    for words in (4, 6, FeedbackSettings().short_words, 10, 12):
        mark = " (set)" if words == FeedbackSettings().short_words else ""
        share = turned_away(said, words)
        console.print(
            f"short turns up to {words} words{mark}: {share:.1%} of {len(said):,} turned away"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
