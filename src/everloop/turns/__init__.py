"""Turns: one call of a model with its tools, streamed and recorded step by step, for any domain."""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.turns.live import LiveAnswers, LiveText
    from everloop.turns.settings import AnswerOptions

__all__ = ["AnswerOptions", "LiveAnswers", "LiveText"]

__getattr__ = lazy_exports(__name__, __file__)
