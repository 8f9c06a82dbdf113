"""Text similarity: repetition, variation and contradiction."""

import pytest

from everloop.memory.text.normal_forms import normalise_values
from everloop.memory.text.similarity import compare_texts

SAID = "Anna is allergic to nuts."
LONG = (
    "The planning meeting took place in the big room, everyone from the platform group was there, "
    "the main point was whether to keep the old queue, and after a long talk the group said that "
    "the design with the blue colour should be used for the landing page and that the one before "
    "should be kept for a while, so that people are not surprised by the change when it comes."
)
MINUTES = (
    "会議では新しい設計を話し合い、青い色を使うことになりました。"
    "古いものは残し、来週また集まる予定です。"
)


@pytest.mark.parametrize(
    "again",
    [
        "anna is allergic to nuts",
        "Anna's allergic to nuts!",
        "Remember: Anna is allergic to nuts",
        "Please remember that Anna's allergic to nuts.",
        "By the way, Anna is allergic to nuts",
        "Don't forget: Anna is allergic to the nuts.",
    ],
)
def test_the_same_text_with_an_introduction_or_contraction_is_a_repetition(again: str) -> None:
    assert compare_texts(SAID, again)[0] == "repeats"
    assert compare_texts(again, SAID)[0] == "repeats"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SAID, "Anna was allergic to nuts."),
        (SAID, "Anna will be allergic to nuts."),
        (SAID, "Anna is allergic to nuts and shellfish."),
        ("Anna loves Bob dearly.", "Bob loves Anna dearly."),
        ("The release went out.", "Remember the release."),
        ("Remember the milk.", "The milk."),
        ("I'm in the office.", "I was in the office."),
        ("The temperature was 5 degrees", "The temperature was -5 degrees"),
        ("-5 degrees in the cellar tonight", "5 degrees in the cellar tonight"),
        ("The price is $50", "The price is \u20ac50"),
        ("The share is 50", "The share is 50 %"),
        ("assert that left == right", "assert that left != right"),
        ("if (ready && willing) return", "if (ready || willing) return"),
        ("It holds while left < right", "It holds while left > right"),
        ("I live in Berlin with Anna", "I lived in Berlin with Anna"),
        ("Call the dentist about Tom's tooth", "Called the dentist about Tom's tooth"),
        ("My daughter lives in Rome", "My daughters live in Rome"),
        ("The manager is aware of the risk", "The management is aware of the risk"),
        ("The wifi password is Sommer2024", "The wifi password is Sommer2024!"),
        ("Das Passwort lautet geheim-7", "Das Passwort lautet geheim_7"),
        ("Anna's email is anna.b@example.org", "Anna's email is anna_b@example.org"),
        ("Use the API key abc-DEF-123", "Use the API key abc-def-123"),
        ("My blood type is 0+", "My blood type is 0-"),
        ("Alert when temperature >30", "Alert when temperature <30"),
        ("The limit is \u2264 5 apples", "The limit is \u2265 5 apples"),
        ("total = price + tax", "total = price - tax"),
        ("The sources are in ~/docs/app", "The sources are in /docs/app"),
        ("It is called as f(a, b) there", "It is called as f(b, a) there"),
        ("Are we moving to Berlin?", "We are moving to Berlin."),
        ("The meeting is at 9", "The meeting is at 9 am"),
        ("The rope is 5 m long", "The rope is 5 long"),
        ("I take vitamin A daily", "I take vitamin daily"),
        ("Er konnte am Montag kommen", "Er k\u00f6nnte am Montag kommen"),
        ("Das Essen war schon da", "Das Essen war sch\u00f6n da"),
    ],
)
def test_a_text_with_another_meaning_is_no_repetition(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] != "repeats"


@pytest.mark.parametrize(
    ("text", "word", "another"),
    [
        (LONG, "blue", "green"),
        (LONG, "kept", "deleted"),
        (LONG, "everyone", "hardly anyone"),
        (LONG, "not surprised", "surprised, not hurt"),
        (LONG, "it comes.", "it comes, which the board forbids."),
        (MINUTES, "青い", "赤い"),
        (MINUTES, "来週", "来月"),
    ],
)
def test_a_long_text_with_another_word_is_no_repetition(text: str, word: str, another: str) -> None:
    changed = text.replace(word, another)
    assert compare_texts(text, changed)[0] != "repeats"
    assert compare_texts(changed, text)[0] != "repeats"


def test_a_long_text_with_a_few_words_more_or_less_is_a_variation() -> None:
    assert compare_texts(LONG, LONG.removesuffix(" when it comes."))[0] == "varies"
    assert compare_texts(LONG.removesuffix(" when it comes."), LONG)[0] == "varies"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It costs \u20ac50 a month", "It costs 50 \u20ac a month"),
        ("It grew by +5 % in May", "It grew by 5% in May"),
        (LONG, LONG.replace(" the ", " ")),
    ],
)
def test_another_way_of_writing_the_same_is_a_repetition(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] == compare_texts(other, one)[0] == "repeats"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SAID, "Anna is not allergic to nuts."),
        (SAID, "Remember: Anna isn't allergic to nuts."),
        ("The train leaves at 9:40.", "The train leaves at 9:50."),
        ("We meet in Paris on Monday.", "We meet in Rome on Monday."),
        ("The wifi password is hunter2", "The wifi password is hunter3"),
        ("We use Python 3.11", "We use Python 3.12"),
        ("The balance is 200 euros", "The balance is -200 euros"),
        ("I can go there tomorrow", "I cannot go there tomorrow"),
        ("Anna lives in Berlin now", "Anna lives in Paris now"),
        ("The meeting is on 5 May at 10", "The meeting is on 6 May at 11"),
        ("Das Büro ist am Montag offen", "Das Büro ist am Montag nicht offen"),
        ("The deadline is Friday", "The deadline is Monday"),
        ("The CEO is Anna", "The CEO is Max"),
        ("The meeting moved to Thursday", "The meeting moved to Wednesday"),
        ("I sent the report to Max", "I never sent the report to Max"),
        ("The left door uses code 4411", "The left door uses code 4422"),
        ("Managed hosting costs 50 dollars", "Managed hosting costs 70 dollars"),
        ("Alfred works at Google now", "Alfred works at Apple now"),
        ("We decided to use Postgres in March", "We decided to use MySQL in March"),
        ("We agreed on 5 percent", "We agreed on 7 percent"),
        ("The office has moved to Berlin", "The office has moved to Hamburg"),
        ("Anna has 3 cats now", "Anna has 4 cats now"),
        ("Anna has met Bob", "Anna has not met Bob"),
        ("I'm 30 years old", "I'm 31 years old"),
        ("Anna's 30 years old", "Anna's 31 years old"),
        ("My dentist is Dr. Weber", "My dentist is Dr. Klein"),
        ("Max ist 34 Jahre alt", "Max ist 35 Jahre alt"),
        ("The meeting is at 9 am", "The meeting is at 9 pm"),
        ("My email is anna@x.org", "My email is anna@y.org"),
        ("Ich trinke Kaffee mit Milch", "Ich trinke Kaffee ohne Milch"),
    ],
)
def test_another_number_or_name_or_a_negation_is_a_contradiction(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] == "contradicts"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Anna likes tea", "Anna hates tea"),
        ("The build passed", "The build failed"),
        ("The shop is open on Sundays", "The shop is closed on Sundays"),
        ("Use tabs for indentation", "Don't use tabs for indentation"),
        ("Das Gesch\u00e4ft ist sonntags offen", "Das Gesch\u00e4ft ist sonntags geschlossen"),
        ("Anna mag Katzen", "Anna hasst Katzen"),
    ],
)
def test_the_opposite_is_a_contradiction(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] == compare_texts(other, one)[0] == "contradicts"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Tom's birthday is 3 March", "Tim's birthday is 5 March"),
        ("Room 12 has a code, it is 552", "Room 13 has a code, it is 553"),
        ("ticket ABC-123 is open", "ticket ABC-124 is closed"),
        ("port of staging database is 5432", "port of staging cache is 6379"),
        ("Invoice 17 is paid", "Invoice 18 is paid"),
        ("Bus 12 leaves at 9", "Bus 13 leaves at 9"),
        ("Server A runs Debian 12", "Server B runs Debian 13"),
        ("Version 1.2 was released in May", "Version 1.3 was released in June"),
        ("The code for the door is 5512", "The code for the gate is 7781"),
        ("The budget for 2025 is 10,000", "The budget for 2026 is 12,000"),
        ("I ran 5 km today", "I ran 7 km today"),
        ("Meeting with Anna at 5", "Meeting with Ben at 6"),
        ("Anna is from Berlin", "Anna is with Tom"),
        ("I am from Germany", "I am with Anna"),
        ("I have been to New York", "I have been to Los Angeles"),
        ("I will meet Anna on Monday", "I will meet Bob on Friday"),
        ("There is a meeting with Anna Schmidt", "There is a meeting with Bob Marley"),
        ("I am reading War and Peace", "I am reading Anna Karenina"),
        ("My cousins are Anna and Bob", "My cousins are Carl and Dora"),
        ("Anna has met Bob", "Anna has met Carl"),
        ("Max has visited Rome", "Max has visited Oslo"),
        ("There is a cafe in Bonn", "There is a cafe in Mainz"),
        ("The project is called Apollo", "The project is led by Max"),
        ("I speak German", "I speak French"),
        ("I need to call Anna", "I need to call Bob"),
        ("I want to visit Rome", "I want to visit Oslo"),
        ("I like Italian food", "I like Thai food"),
        ("Ich mag Kaffee", "Ich mag Tee"),
        ("Ich muss noch Milch kaufen", "Ich muss noch Brot kaufen"),
        ("In der K\u00fcche fehlt Salz", "In der K\u00fcche fehlt Zucker"),
        ("Der Kurs am Montag beginnt um 9", "Der Kurs am Dienstag beginnt um 10"),
    ],
)
def test_statements_about_two_things_are_no_contradiction(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] == compare_texts(other, one)[0] == "differs"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Deployed version 1.2.3 to staging", "Deployed version 1.2.4 to staging"),
        ("Met Anna for lunch on Monday", "Met Anna for lunch on Tuesday"),
        ("Called mom on 3 May", "Called mom on 9 May"),
        ("Paid the invoice 2026-001 from Acme", "Paid the invoice 2026-002 from Acme"),
        ("The user asked about invoice 17", "The user asked about invoice 18"),
        ("We sent the report to Max", "We sent the report to Anna"),
        ("I drove to Berlin on Monday", "I drove to Hamburg on Monday"),
        ("Ich bin heute 5 km gelaufen", "Ich bin heute 7 km gelaufen"),
        ("Wir haben gestern Pizza gegessen", "Wir haben gestern Nudeln gegessen"),
    ],
)
def test_an_action_done_twice_is_no_contradiction(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] == compare_texts(other, one)[0] == "differs"


def test_the_same_day_written_in_another_order_is_no_contradiction() -> None:
    assert compare_texts("My birthday is May 3", "My birthday is 3 May")[0] != "contradicts"


FIRST_OF_MAY = "The release is on 2026-05-01"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FIRST_OF_MAY, "The release is on 1 May 2026"),
        (FIRST_OF_MAY, "The release is on May 1st, 2026"),
        (FIRST_OF_MAY, "The release is on the 1st of may 2026"),
        (FIRST_OF_MAY, "The release is on Friday, 1 May 2026"),
        (FIRST_OF_MAY, "The release is on 2026/5/1"),
        (FIRST_OF_MAY, "The release is on 1 May"),
        ("The release is on 2026-05-13", "The release is on 5/13/2026"),
        ("The release is in 2026-05", "The release is in May 2026"),
        ("Die Abgabe ist am 1. März 2026", "Die Abgabe ist am 01.03.2026"),
        ("Die Abgabe ist am 2026-03-01", "Die Abgabe ist am 1. März 2026"),
        ("La livraison est le 1er mai 2026", "La livraison est le 2026-05-01"),
        ("The trip is from 1 to 3 May 2026", "The trip is from 1 to 2026-05-03"),
        ("The meeting is at 3 pm", "The meeting is at 15:00"),
        ("The meeting is at 9:05", "The meeting is at 09:05"),
        ("The party is at 12 am", "The party is at 0:00"),
        ("Der Termin ist um 15 Uhr", "Der Termin ist um 15:00 Uhr"),
        ("Le train part à 15h30", "Le train part à 15:30"),
        ("The price is 1,000 dollars", "The price is 1000 dollars"),
        ("Anna has two children", "Anna has 2 children"),
    ],
)
def test_a_date_hour_or_number_in_another_form_is_equal(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] == compare_texts(other, one)[0] == "varies"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FIRST_OF_MAY, "The release is on 2 May 2026"),
        (FIRST_OF_MAY, "The release is on 1 May 2027"),
        (FIRST_OF_MAY, "The release is on 2 May"),
        (FIRST_OF_MAY, "The release is not on 1 May 2026"),
        (FIRST_OF_MAY, "The release is on Thursday, 1 May 2026"),
        (FIRST_OF_MAY, "The release is on 6/7/2026"),
        ("The release is on 1/5/2026", "The release is on 5/1/2026"),
        ("Die Abgabe ist am 1. März 2026", "Die Abgabe ist am 02.03.2026"),
        ("La livraison est le 1er août 2026", "La livraison est le 2026-08-02"),
        ("The meeting is at 3 pm", "The meeting is at 16:00"),
        ("The price is 1,000 dollars", "The price is 1100 dollars"),
        ("Anna has two children", "Anna has three children"),
    ],
)
def test_another_date_hour_or_number_contradicts_in_any_form(one: str, other: str) -> None:
    assert compare_texts(one, other)[0] == compare_texts(other, one)[0] == "contradicts"


@pytest.mark.parametrize("unclear", ["1/5/2026", "5/1/2026", "01-05-2026"])
def test_an_ambiguous_date_is_not_guessed(unclear: str) -> None:
    said = f"The release is on {unclear}"
    assert compare_texts(FIRST_OF_MAY, said)[0] == compare_texts(said, FIRST_OF_MAY)[0] == "differs"
    assert compare_texts(said, said)[0] == "repeats"


def test_a_month_does_not_contradict_a_day_of_it() -> None:
    assert compare_texts(FIRST_OF_MAY, "The release is in May 2026")[0] == "differs"
    assert compare_texts(FIRST_OF_MAY, "The release is in June 2026")[0] == "contradicts"


@pytest.mark.parametrize("said", ["CVE-2026-05-01", "you may 5 times", "31 June 2026", "v1.2.2026"])
def test_an_invalid_date_is_not_normalised(said: str) -> None:
    assert normalise_values(said) == (said, ())
