r"""What a person is shown, exactly: text without invisible characters, and its digest.

An approval must not look different from what runs. So control characters, bidirectional overrides
and zero-width characters are written out as `\u{202e}` before a request is recorded, and the answer
carries the digest of what was recorded.
"""

import hashlib
import unicodedata
from collections.abc import Sequence

import msgspec

from everloop.inbox.model.events import Choice, Question

# Format, control, surrogate, private, unassigned; line and paragraph separators.
INVISIBLE = frozenset(("Cf", "Cc", "Cs", "Co", "Cn", "Zl", "Zp"))
KEPT = frozenset("\n\t")
BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")  # letters that show nothing


def written_out(text: str) -> str:
    """The text with every invisible character written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written(letter) for letter in text)


def digest_of(
    kind: str, texts: Sequence[str], choices: Sequence[Choice], questions: Sequence[Question]
) -> str:
    """The digest of what is shown of a request."""
    shown = msgspec.json.encode([kind, list(texts), list(choices), list(questions)])
    return hashlib.sha256(shown).hexdigest()


def choices_written_out(choices: Sequence[Choice]) -> tuple[Choice, ...]:
    """Choices as they are shown."""
    return tuple(
        Choice(one.value, written_out(one.label), written_out(one.description), one.needs_text)
        for one in choices
    )


def questions_written_out(questions: Sequence[Question]) -> tuple[Question, ...]:
    """Questions as they are shown."""
    return tuple(
        Question(
            one.question_id,
            written_out(one.header),
            written_out(one.text),
            choices_written_out(one.options),
            one.multiple,
        )
        for one in questions
    )


def _written(letter: str) -> str:
    if letter in KEPT or not (letter in BLANK or unicodedata.category(letter) in INVISIBLE):
        return letter
    return f"\\u{{{ord(letter):04x}}}"
