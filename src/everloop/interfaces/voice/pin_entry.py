"""Collects the digits of a PIN, from the keypad or spoken. They stay in this object."""

import re

DIGITS_MAX = 12
NUMBER_WORDS = {
    "zero": "0",
    "oh": "0",
    "one": "1",
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
}
_SPOKEN = re.compile(r"\d|[a-z]+")


class PinEntry:
    """The digits so far. `#` ends an entry, `*` begins it again."""

    def __init__(self) -> None:
        self._digits = ""

    def press(self, key: str) -> str | None:
        """Take a key; returns the entered digits once the entry has ended."""
        if key == "*":
            self._digits = ""
        elif key == "#":
            return self._end()
        elif key.isascii() and key.isdigit():
            self._digits += key
            if len(self._digits) >= DIGITS_MAX:
                return self._end()
        return None

    def _end(self) -> str | None:
        entered, self._digits = self._digits, ""
        return entered or None


def spoken_digits(text: str) -> str:
    """The digits in what somebody said: `8 0 2`, `802` or `eight oh two`."""
    found = _SPOKEN.findall(text.lower())
    return "".join(one if one.isdigit() else NUMBER_WORDS.get(one, "") for one in found)
