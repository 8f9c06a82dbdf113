"""The built-in model: it quotes, with dates, says what it is, and invents nothing."""

import msgspec
import pytest

from everloop.adapters.models.offline import CAPABILITIES, NOTHING, SELF_DESCRIPTION, OfflineModel
from everloop.completion import Declined, generate_structured, read_completion, text_message
from everloop.memory.summaries.compress import SummaryText
from everloop.ports import Message, Params, Prompt

CONTEXT = """\
You are a helpful assistant for people who ask about dogs, databases and tea.

## What you remember
[day:2026-03-01] Anna's dog is called Rex.
- 2026-03-04 (fact) We decided to use PostgreSQL for the archive, because one file is not enough.
[2026-04-01 10:00] I prefer tea to coffee.
and never with milk

2026-99-99: this is no day"""


class Judgement(msgspec.Struct, frozen=True):
    """A value that has no inert default."""

    sentiment: str


class Notes(msgspec.Struct, frozen=True):
    """A value that may say nothing."""

    facts: list[str] = []
    mood: str = "unknown"


def said(question: str, *before: Message, system: str = CONTEXT, tokens_max: int = 400) -> str:
    """What it answers."""
    prompt = Prompt((*before, text_message("user", question)), system=system)
    return read_completion(OfflineModel().generate(prompt, Params(tokens_max=tokens_max))).text


@pytest.mark.parametrize(
    ("question", "quote"),
    [
        ("What is the name of Anna's dog?", "2026-03-01: “Anna's dog is called Rex.”"),
        ("Which database did we choose for the archive?", "2026-03-04: “We decided to use Postgre"),
        ("tea or coffee?", "2026-04-01: “I prefer tea to coffee.”"),
        ("Do I take milk?", "2026-04-01: “and never with milk”"),
    ],
)
def test_it_quotes_matching_lines_with_their_date(question: str, quote: str) -> None:
    assert quote in said(question)


def test_lines_that_do_not_match_are_not_quoted() -> None:
    assert "Rex" not in said("tea or coffee?")
    assert said("What is the capital of France?").startswith(NOTHING)


def test_instructions_are_not_quoted() -> None:
    assert said("Are you a helpful assistant for people?").startswith(NOTHING)


def test_it_quotes_user_messages_and_never_its_own_answers() -> None:
    before = (
        text_message("user", "My sister is called Ida."),
        text_message("assistant", "Your sister is a spy."),
    )
    answer = said("What is my sister called?", *before, system="")
    assert "Earlier: “My sister is called Ida.”" in answer
    assert "spy" not in answer


def test_a_question_is_quoted_only_if_there_is_nothing_else() -> None:
    asked = text_message("user", "How is my sister?")
    told = text_message("user", "My sister is called Ida.")
    assert "How is" not in said("What is my sister called?", asked, told, system="")
    assert "How is" in said("What is my sister called?", asked, system="")


@pytest.mark.parametrize("question", ["tea or coffee?", "What about France?", "Summarise this."])
def test_every_answer_says_what_it_is_and_how_to_get_a_model(question: str) -> None:
    assert said(question).endswith(SELF_DESCRIPTION)


@pytest.mark.parametrize(
    "question",
    ["What can you do for me, and what do you remember?", "who are you?", "Help!"],
)
def test_asked_about_itself_it_says_what_it_can_do(question: str) -> None:
    assert said(question).startswith(CAPABILITIES)
    assert said(question, system="").startswith(CAPABILITIES)


def test_asked_what_it_knows_about_something_it_quotes() -> None:
    assert not said("What do you know about the boiler?").startswith(CAPABILITIES)


def test_a_summary_is_made_of_dated_sentences_within_the_budget() -> None:
    assert "2026-03-04: We decided to use PostgreSQL" in said("Please summarise what you know.")
    short = said("Summarise it.", tokens_max=20).removesuffix(SELF_DESCRIPTION)
    assert 0 < len(short) < 120


def test_a_text_without_dates_is_summarised_without_dates() -> None:
    answer = said(
        "Summarise:\nThe boat sank. Everyone survived because Tom had a radio.", system=""
    )
    assert "Tom had a radio." in answer
    assert "1970" not in answer


def test_a_summary_follows_the_requested_schema() -> None:
    prompt = Prompt(
        (text_message("user", "2026-01-01: The boat sank."),), system="Summarise this day."
    )
    made = generate_structured(OfflineModel(), prompt, SummaryText)
    assert made == SummaryText("The boat sank.", "2026-01-01: The boat sank.")


def test_a_summary_of_nothing_is_declined() -> None:
    prompt = Prompt((text_message("user", ""),), system="Summarise this day.")
    assert isinstance(generate_structured(OfflineModel(), prompt, SummaryText), Declined)
    assert "cannot sum that up" in said("Summarise this.", system="")


def test_other_values_are_empty_or_declined() -> None:
    prompt = Prompt((text_message("user", "I love it!"),))
    assert generate_structured(OfflineModel(), prompt, Notes) == Notes()
    assert isinstance(generate_structured(OfflineModel(), prompt, Judgement), Declined)


def test_equal_prompts_get_equal_answers_and_cost_nothing() -> None:
    assert said("tea or coffee?") == said("tea or coffee?")
    prompt = Prompt((text_message("user", "tea"),))
    assert read_completion(OfflineModel().generate(prompt, Params())).usage.cost_usd == 0


def test_an_empty_prompt_is_answered_too() -> None:
    assert read_completion(OfflineModel().generate(Prompt(()), Params())).text.startswith(NOTHING)
