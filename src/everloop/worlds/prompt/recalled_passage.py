"""Recalled passages: of a long memory, the sentences that a cue is about. Pure."""

from collections.abc import Callable, Sequence

from everloop.memory.browse.snippet import snippet
from everloop.memory.summaries.extractive import split_into_sentences
from everloop.memory.text.analysis import (
    ALTERNATIVE,
    analyse,
    detect_question_languages,
    parse_question,
)


def recalled_passage(text: str, cue: str, tokens_max: int, count: Callable[[str], int]) -> str:
    """A text, or its sentences in a row that share the most words with a cue and are short enough.

    It begins where the words do, and goes on as long as there is room: an answer often follows what
    was asked about. Without a word in common it is the beginning of the text. A sentence that is
    too long is cut around the words.
    """
    if count(text) <= tokens_max:
        return text
    wanted = _terms(cue)
    sentences = list(split_into_sentences(text)) or [text]
    shared = [wanted & _words(sentence) for sentence in sentences]

    def score(span: range) -> tuple[int, int]:
        return len(frozenset[str]().union(*(shared[at] for at in span))), len(shared[span.start])

    spans = [_span(sentences, at, tokens_max, count) for at in range(len(sentences))]
    best = " ".join(sentences[at] for at in max(spans, key=score))
    tokens = count(best)
    if tokens <= tokens_max:
        return best
    return snippet(best, cue, max(1, len(best) * tokens_max // tokens)).text


def _span(
    sentences: Sequence[str], first: int, tokens_max: int, count: Callable[[str], int]
) -> range:
    """The sentences from one on that are short enough together, at least that one."""
    left = tokens_max - count(sentences[first])
    last = first + 1
    while last < len(sentences) and (left := left - count(sentences[last])) >= 0:
        last += 1
    return range(first, last)


def _terms(cue: str) -> frozenset[str]:
    terms = parse_question(cue, detect_question_languages(cue) or ()).terms
    return frozenset(one for term in terms for one in term.split(ALTERNATIVE))


def _words(text: str) -> frozenset[str]:
    found = analyse(text)
    return frozenset((*found.words, *found.marks))
