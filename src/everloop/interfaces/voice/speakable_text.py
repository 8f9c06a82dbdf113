"""Turns streamed Markdown into text that can be spoken, sentence by sentence.

Whatever the pieces are in which a text arrives, the sentences that come out are the same.
"""

import re

SENTENCE_MAX = 500  # characters after which a piece is spoken although no sentence has ended
CODE = "There is code here; it is in the thread."
TABLE_RULE = re.compile(r"^[\s|:\-]*-[\s|:\-]*$")
FENCE = re.compile(r"^\s*(```|~~~)")
HEADING = re.compile(r"^\s{0,3}#{1,6}\s+")
QUOTE = re.compile(r"^\s*(>\s?)+")
BULLET = re.compile(r"^\s*[-*+]\s+(\[[ xX]\]\s+)?")
IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
LINK = re.compile(r"\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])")
ADDRESS = re.compile(r"<?\bhttps?://[^\s>)]+>?")
TAG = re.compile(r"</?[A-Za-z][^<>]*>")
FOOTNOTE = re.compile(r"\[\^[^\]]+\]:?")
STRONG = re.compile(r"\*{2,3}|_{2,3}(?=\w)|(?<=\w)_{2,3}|~~")
EMPHASIS = re.compile(r"(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])|(?<!\w)_(?=\S)|(?<=\S)_(?!\w)")
ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+\-.!|>~])")
PRIVATE_USE = 0xE000  # where escaped characters are kept, so that nothing takes them for Markdown
ESCAPED = re.compile("[\ue021-\ue07e]")
SPACES = re.compile(r"\s+")
SENTENCE_END = re.compile(r"[.!?\u2026:;][\"'\u201d\u2019)\]*_`]*\s+$")
NUMBERED = re.compile(r"^\s*\d+[.)]\s+$")


def speakable(line: str) -> str:
    """One line or sentence of Markdown as plain text; empty if nothing of it can be spoken."""
    if TABLE_RULE.match(line):
        return ""
    line = ESCAPE.sub(lambda found: chr(PRIVATE_USE + ord(found[1])), line)
    for pattern in (QUOTE, HEADING, BULLET):
        line = pattern.sub("", line)
    line = IMAGE.sub(r"\1", line)
    line = FOOTNOTE.sub("", line)
    line = LINK.sub(r"\1", line)
    line = ADDRESS.sub("a link", line)
    line = TAG.sub("", line)
    if line.count("|") > 1:
        line = ", ".join(cell.strip() for cell in line.strip().strip("|").split("|"))
    line = EMPHASIS.sub("", STRONG.sub("", line)).replace("`", "")
    line = ESCAPED.sub(lambda found: chr(ord(found[0]) - PRIVATE_USE), line)
    return SPACES.sub(" ", line).strip()


class SpeakableText:
    """Collects streamed Markdown and gives out what can be spoken, as sentences end."""

    def __init__(self) -> None:
        self._rest = ""
        self._in_code = False

    def feed(self, text: str) -> list[str]:
        """Take a piece; returns the sentences that ended with it, each with a space after it."""
        spoken: list[str] = []
        for letter in text:  # one by one, so that the pieces do not matter
            self._rest += letter
            if letter == "\n":
                spoken += self._line()
            elif not self._in_code and self._is_sentence():
                spoken += self._take(self._rest)
        return spoken

    def flush(self) -> list[str]:
        """The rest, when the text has ended."""
        return self._line()

    def _line(self) -> list[str]:
        if FENCE.match(self._rest):
            self._rest, self._in_code = "", not self._in_code
            return [f"{CODE} "] if self._in_code else []
        if self._in_code:
            self._rest = ""
            return []
        return self._take(self._rest)

    def _is_sentence(self) -> bool:
        """Whether the rest ends with the end of a sentence, and no link or code is open in it."""
        rest = self._rest
        if len(rest) > SENTENCE_MAX and rest[-1].isspace():
            return True
        if not rest[-1].isspace() or rest.count("`") % 2 or rest.count("[") > rest.count("]"):
            return False
        if rest.rfind("](") > rest.rfind(")") or rest.lstrip().startswith("|"):
            return False
        return bool(SENTENCE_END.search(rest[-20:])) and not NUMBERED.match(rest)

    def _take(self, text: str) -> list[str]:
        self._rest = ""
        spoken = speakable(text)
        return [f"{spoken} "] if spoken else []


def speakable_whole(text: str) -> str:
    """A whole text of Markdown as plain text."""
    stream = SpeakableText()
    return "".join([*stream.feed(text), *stream.flush()]).strip()
