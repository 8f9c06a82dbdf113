"""The built-in model: it keeps statements, quotes them with dates, and invents nothing."""

import msgspec
import pytest

from everloop.adapters.models.offline import CAPABILITIES, NOTHING, NOTHING_TO_DO, OfflineModel
from everloop.completion import Declined, generate_structured, read_completion, text_message
from everloop.memory.summaries.compress import SummaryText
from everloop.ports import Message, Params, Prompt, Tool, ToolCall, ToolResult

CONTEXT = """\
You are a helpful assistant for people who ask about dogs, databases and tea.

## What you remember
[day:2026-03-01] Anna's dog is called Rex.
- 2026-03-04 (fact) We decided to use PostgreSQL for the archive, because one file is not enough.
[2026-04-01 10:00] I prefer tea to coffee.
and never with milk

2026-99-99: this is no day"""


REMEMBER = Tool("remember", "Keep something.", {})


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
    assert said("What is the capital of France?") == NOTHING


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


def test_a_question_is_never_quoted_as_an_answer() -> None:
    asked = text_message("user", "How is my sister?")
    told = text_message("user", "My sister is called Ida.")
    assert "How is" not in said("What is my sister called?", asked, told, system="")
    assert said("What is my sister called?", asked, system="") == NOTHING


def test_a_message_and_its_summary_are_quoted_once_with_the_date() -> None:
    told = text_message("user", "Anna's dog is called Rex. Remember that.")
    answer = said("What is the name of Anna's dog?", told)
    assert answer.count("Rex") == 1
    assert "2026-03-01" in answer


def test_contradicting_entries_are_shown_as_such() -> None:
    system = (
        "- 2026-03-01 (fact) The boiler code is 4711.\n- 2026-04-01 (fact) The boiler code is 4712."
    )
    answer = said("What is the boiler code?", system=system)
    assert "contradicts itself" in answer
    assert answer.index("4711") < answer.index("4712")
    assert "contradicts" not in said("What is the boiler code?", system=system.splitlines()[0])


@pytest.mark.parametrize(
    "text",
    [
        "I prefer short answers, and my time zone is Europe/Berlin. Remember that.",
        "Remember that I prefer short answers, and my time zone is Europe/Berlin.",
        "I prefer short answers, and my time zone is Europe/Berlin.",
    ],
)
def test_a_statement_is_kept_with_a_tool_and_acknowledged(text: str) -> None:
    asked = Prompt((text_message("user", text),), tools=(REMEMBER,))
    call = read_completion(OfflineModel().generate(asked, Params())).calls[0]
    assert call.arguments == {"text": "I prefer short answers, and my time zone is Europe/Berlin."}
    assert acknowledged(asked, call, "Kept as mem-1.") == "Noted."
    assert acknowledged(asked, call, "mem-1 says so already.") == "I have that already."
    contradicted = acknowledged(asked, call, "Kept as mem-1.\nIt contradicts what was kept before.")
    assert contradicted == "Noted. It contradicts what was kept before."


def acknowledged(asked: Prompt, call: ToolCall, result: str) -> str:
    """What it says after its tool gave a result."""
    after = (Message("assistant", (call,)), Message("user", (ToolResult(call.id, result),)))
    prompt = msgspec.structs.replace(asked, messages=(*asked.messages, *after))
    return read_completion(OfflineModel().generate(prompt, Params())).text


@pytest.mark.parametrize("text", ["Hello!", "thanks", "OK.", "Remember that.", "Help me plan."])
def test_small_talk_and_requests_are_not_kept(text: str) -> None:
    asked = Prompt((text_message("user", text),), tools=(REMEMBER,))
    answer = read_completion(OfflineModel().generate(asked, Params()))
    assert answer.calls == ()
    assert answer.text


@pytest.mark.parametrize(
    "question",
    ["tea or coffee?", "What about France?", "Summarise this.", "Hello", "What can you do?"],
)
def test_no_answer_says_what_it_is(question: str) -> None:
    assert "language model" not in said(question)
    assert "docs/" not in said(question)


def test_a_request_about_nothing_known_asks_to_be_told() -> None:
    assert said("Help me plan the week: I will tell you what is on my mind.") == NOTHING_TO_DO


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
    short = said("Summarise it.", tokens_max=20)
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
