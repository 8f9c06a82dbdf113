"""Spelling correction: a misspelt question finds similar words, and a note says so."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.test_ghosts import Diary

from everloop.memory.browse.snippet import snippet
from everloop.memory.model.commands import GrantAudience, RememberItem
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.text.spelling import WRONG_LETTER_MIN, SpellingIndex

WORDS = st.text("abc", min_size=WRONG_LETTER_MIN, max_size=WRONG_LETTER_MIN + 2)


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """An empty diary."""
    opened = Diary(tmp_path / "diary")
    yield opened
    opened.log.close()


def search(diary: Diary, text: str, principal: str = "user") -> tuple[list[str], str]:
    """The item ids that keyword search finds, and its notes."""
    answer = diary.keeper.recall(principal, SearchQuery(text, mode="text"))
    return [hit.item.item_id for hit in answer.hits], " ".join(answer.notes)


def one_typing_error_apart(one: str, other: str) -> bool:
    """The definition: one letter added, dropped or replaced, or two neighbours swapped."""
    long, short = sorted((one, other), key=len, reverse=True)
    if len(long) != len(short):
        return any(long[:at] + long[at + 1 :] == short for at in range(len(long)))
    where = [at for at, pair in enumerate(zip(one, other, strict=True)) if len(set(pair)) > 1]
    if len(where) == 2 and where[1] == where[0] + 1:
        first, last = where
        return one[first] + one[last] == other[last] + other[first]
    return len(where) == 1


@given(st.lists(WORDS, unique=True, max_size=30), WORDS)
def test_similar_words_are_those_one_typing_error_apart(words: list[str], word: str) -> None:
    expected = {other for other in words if one_typing_error_apart(word, other)}
    assert set(SpellingIndex(words).similar_words(word)) == expected


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("jonh", "john"),  # exchanged letters, however short
        ("adress", "address"),
        ("tomorow", "tomorrow"),
        ("occassion", "occasion"),
        ("katherine", "catherine"),
        ("kitchem", "kitchen"),
    ],
)
def test_common_typing_errors_are_corrected(slip: str, meant: str) -> None:
    assert SpellingIndex(["unrelated", meant, "words"]).similar_words(slip) == [meant]


@pytest.mark.parametrize(("one", "other"), [("mother", "bother"), ("store", "story"), ("ab", "ba")])
def test_short_words_are_not_corrected_to_other_words(one: str, other: str) -> None:
    assert SpellingIndex([other]).similar_words(one) == []


def test_a_misspelt_question_finds_the_item_and_says_so(diary: Diary) -> None:
    diary.say("wanted", "The new address is Harbour Street 5.")
    diary.say("noise", "The kitchen needs paint.")
    found, told = search(diary, "What is the new adress in Habrour Street?")
    assert found[0] == "wanted"
    assert told == ("No match for “adress” and “Habrour”; similar spellings were searched instead.")


@pytest.mark.parametrize(
    ("item", "question"),
    [
        ("Das Passwort ist nicht im Safe", "Passwörter"),
        ("Tom wohnt in Muenchen", "München"),
        ("Tom wohnt in München", "Muenchen"),
        ("Wir haben die Haeuser schon gesehen", "Häusern"),
    ],
)
def test_a_word_with_an_umlaut_matches_both_spellings(
    diary: Diary, item: str, question: str
) -> None:
    diary.say("meant", item)
    assert search(diary, question) == (["meant"], "")


def test_the_note_quotes_a_misspelt_word_as_it_was_typed(diary: Diary) -> None:
    diary.say("meant", "Das Frühstück ist nicht im Preis")
    found, told = search(diary, "Frühtsück")
    assert found == ["meant"]
    assert told.startswith("No match for “Frühtsück”;")


def test_an_identifier_is_not_treated_as_misspelt(diary: Diary) -> None:
    diary.say("meant", "See the book and the bookmrk")
    assert search(diary, "book-marked") == (["meant"], "")


def test_a_word_that_has_a_match_is_not_corrected(diary: Diary) -> None:
    diary.say("sand", "We crossed the desert on foot.")
    diary.say("sweet", "There was ice cream for dessert.")
    assert search(diary, "desert") == (["sand"], "")


def test_a_corrected_match_ranks_below_an_exact_match(diary: Diary) -> None:
    diary.say("near", "Our address is on the door.")
    diary.say("exact", "Our harbour is on the map.")
    answer = diary.keeper.recall("user", SearchQuery("adress harbour", mode="text"))
    by_id = {hit.item.item_id: hit.similarity for hit in answer.hits}
    assert [*by_id] == ["exact", "near"]
    assert by_id["near"] < by_id["exact"]


def test_a_word_similar_to_many_others_is_not_corrected(diary: Diary) -> None:
    for number, word in enumerate(("windmill", "windmall", "windmell", "windmoll")):
        diary.say(f"item-{number}", f"There is a {word}.")
    assert search(diary, "windmull") == ([], "")
    assert search(diary, "windimll")[0] == ["item-0"]


def test_corrections_come_from_indexed_and_from_waiting_passages(diary: Diary) -> None:
    diary.say("early", "Beginnings are like rhubarb.")
    for number in range(600):
        diary.engine.do(RememberItem(f"n{number}", f"Something else, number {number}."))
    assert search(diary, "rhubrab")[0] == ["early"]
    diary.say("late", "Endings are like marzipan.")
    assert search(diary, "marzpian")[0] == ["late"]


def test_a_hidden_item_suggests_no_correction(diary: Diary) -> None:
    diary.engine.do(GrantAudience("guest", ("project:x",)))
    diary.engine.do(RememberItem("secret", "The password is rhubarb.", scope="user"))
    diary.engine.do(RememberItem("open", "The kitchen needs paint.", scope="project:x"))
    assert search(diary, "rhubrab", "guest") == ([], "")
    assert search(diary, "rhubrab")[0] == ["secret"]


def test_a_purged_or_retracted_item_suggests_no_correction(diary: Diary) -> None:
    first = diary.say("first", "We planted rhubarb.")
    second = diary.say("second", "We planted artichokes.")
    assert search(diary, "rhubrab")[0] == ["first"]
    diary.log.purge([first], reason="private", actor="user")
    diary.log.retract([second], reason="wrong", actor="user")
    assert search(diary, "rhubrab") == ([], "")
    assert search(diary, "artihcokes") == ([], "")


def test_the_snippet_marks_the_corrected_word() -> None:
    text = f"{'Long before it. ' * 40}The new address is Harbour Street 5."
    parts = snippet(text, "new adress").parts()
    assert [piece for piece, looked_for in parts if looked_for] == ["new", "address"]
