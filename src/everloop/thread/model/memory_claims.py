"""Claims of an answer to have kept something: "Noted.", "I'll remember that". Pure.

Small models say so without calling a tool. Recalling ("I remember that you …") is no such claim.
"""

import re

_I = r"\bI(?:['’]ve|['’]ll|\s+have|\s+will|\s+am\s+going\s+to|['’]m\s+going\s+to)"  # noqa: RUF001
_THAT = r"(?:that|this|it|these|those|your|the)\b"
_CLAIMS = re.compile(
    rf"""
    (?:^|[.!?:]\s+|\n)\W*(?:(?:ok(?:ay)?|got\sit|sure|alright|great|understood|thanks?)[,.!]?\s+)*
        (?:duly\s+|i\s+)?(?:noted|saved|recorded)\b
  | {_I}\s+(?:\w+ly\s+|just\s+|also\s+|now\s+)?(?:
        noted|remembered|saved|stored|recorded|memorised|memorized|made\s+a\s+(?:mental\s+)?note
      | (?:written|noted|jotted)\s+(?:{_THAT}\s+)?down|put\s+{_THAT}\s+(?:in|into|on)\s
      | remember\s+{_THAT}|note\s+{_THAT}|make\s+(?:sure\s+to\s+remember|a\s+(?:mental\s+)?note)
      | keep\s+{_THAT}\s+(?:\w+\s+)?in\s+(?:mind|memory)|save\s+{_THAT}|store\s+{_THAT}
      | add(?:ed)?\s+{_THAT}\s+(?:\w+\s+){{0,3}}to\s+(?:my|your|the)\s+(?:notes?|memory|list)
    )
  | \b(?:has|have)\s+been\s+(?:noted|saved|recorded|remembered|stored)\b
  | \bhabe\s+(?:ich\s+)?(?:es\s+|das\s+|mir\s+|das\s+mir\s+|mir\s+das\s+)*
        (?:notiert|gemerkt|gespeichert|vermerkt)\b
  | (?:^|[.!]\s+)(?:ist\s+)?(?:notiert|gemerkt|gespeichert)\b
  | \bich\s+(?:werde\s+(?:\w+\s+){{0,3}}(?:merken|notieren)|merke\s+(?:es\s+|das\s+)?mir)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
KEPT_MAX = 1_000  # characters of a message that is kept as a fact
_QUESTION = re.compile(r"\?\s*$")


def claims_to_have_kept(answer: str) -> bool:
    """Whether an answer says that it noted, saved or will remember something."""
    return _CLAIMS.search(answer) is not None


def can_be_kept(message: str) -> bool:
    """Whether a message is what such a claim is about: a short statement, not a question."""
    text = message.strip()
    return bool(text) and len(text) <= KEPT_MAX and not _QUESTION.search(text)
