"""What of a spoken answer was heard, when the caller interrupted it.

Twilio tells the last utterance up to the interruption. It may be all that was said, or only the
part since the last pause, with other spaces: so it is looked for in what was said, word by word.
"""

import re

WORD = re.compile(r"\w+", re.UNICODE)


def heard_part(said: str, utterance: str) -> str:
    """The beginning of what was said, up to the end of the utterance.

    Where the utterance cannot be found, it is all that is known to have been heard.
    """
    spoken = [(match.group().casefold(), match.end()) for match in WORD.finditer(said)]
    heard = [word.casefold() for word in WORD.findall(utterance)]
    if not heard:
        return ""
    for start in range(len(spoken) - len(heard) + 1):
        window = [word for word, _ in spoken[start : start + len(heard)]]
        if window[:-1] == heard[:-1] and window[-1].startswith(heard[-1]):
            last, end = spoken[start + len(heard) - 1]
            if last != heard[-1]:  # it was interrupted within a word
                return said[: end - len(last) + len(heard[-1])]
            return _with_punctuation(said, end)
    return utterance.strip()[: len(said)]


def contains(said: str, utterance: str) -> bool:
    """Whether an utterance is part of what was said."""
    wanted = " ".join(word.casefold() for word in WORD.findall(utterance))
    return wanted in " ".join(word.casefold() for word in WORD.findall(said))


def _with_punctuation(said: str, end: int) -> str:
    """Up to a word, with the punctuation right after it."""
    while end < len(said) and not (said[end].isspace() or said[end].isalnum()):
        end += 1
    return said[:end]
