"""Corrections in messages are found with high precision and good recall."""

import pytest

from everloop.lessons.capture.corrections import corrections
from everloop.lessons.capture.settings import CaptureSettings

MOST = CaptureSettings().message_characters_max
CORRECTIONS = """
no, use pnpm instead of npm
No. Use the existing helper in utils/dates.py.
don't add comments that restate the code
always run the linter before you commit
Never push to main directly.
remember that the staging database is read-only
Please remember to update the changelog with every change.
from now on write commit messages in the imperative
stop adding trailing summaries to every reply
use httpx rather than requests
we use tabs in this repo, not spaces
In this project we never commit generated files.
actually, it should be a 404, the resource does not exist
No, we deploy with terraform, not by hand.
Wrong, the port is 8443.
that's not right: the config goes into settings.toml
you should never edit migrations that were shipped
prefer composition over inheritance here
avoid using any in TypeScript
also, don't put secrets into the compose file
ok thanks. Always ask before deleting files.
keep in mind that CI runs on Python 3.11
Use uv, not pip.
we prefer small pull requests
make sure you always add a test when you fix a bug
Going forward, name branches after the ticket.
please don't rewrite the whole file when a small edit will do
nope, call it `user_id`
do not use default exports
""".strip().splitlines()
REMARKS = """
can you add a test for this?
thanks, looks good
don't worry about the tests
never mind
don't do anything yet
it always fails on the second run
I never said that
why do you always rewrite everything?
don't commit yet, I want to look at it
no
no problem, go ahead
No idea, let me check the logs.
remember when we fixed the parser?
stop
stop the server please
I don't know what you mean
use the second option
run the tests
please use the blue one for now
don't you think that is too much?
Add a button that always shows the total.
The function never returns null, so the check is dead code
what happens if we don't set the flag
yes, do that
make sure the tests pass
no, I mean the other file
actually that's fine
avoid?
we use the output of this function to draw the chart
Actually I like it
do you remember that bug
don't forget to push
stop doing that
wrong file
no worries, take your time
Write a parser for this format and add tests.
he said never to trust the cache
read the README and summarise it
never thought about it that way
not quite sure what happened there
use it
don't need it anymore
in this project we have three services
check the logs, not sure what is going on
""".strip().splitlines()
# Written after the patterns and never used to change them: what the figures are worth.
HELD_OUT_CORRECTIONS = """
No, keep the old name, others import it.
don't use f-strings in log calls
Never log the request body.
always quote paths in shell scripts
we never squash merge
in our codebase errors should be typed
remember to bump the version when the schema changes
stop using print for debugging
Use dataclasses instead of dicts.
wrong, it's snake_case
Please always show me the diff before you write.
do not touch the vendored folder
""".strip().splitlines()
HELD_OUT_REMARKS = """
no that's what I wanted, thanks
don't see it in the list
never got that to work myself
we never had that problem before
Remember the milk
always a pleasure
stop here for now
I always thought it was the other way round
could you use the other template instead of this one?
Use case: a user signs in and sees the list.
no errors this time
Don't know, maybe the cache?
it doesn't use the index
show me what you changed
make the header blue
actually, can you check that again?
the docs say to never call this twice
well, no
""".strip().splitlines()


def found(text: str) -> list[str]:
    return [each.quote for each in corrections(text, answered=True, characters_max=MOST)]


@pytest.mark.parametrize("text", CORRECTIONS)
def test_a_correction_is_found(text: str) -> None:
    assert len(found(text)) == 1


@pytest.mark.parametrize("text", REMARKS)
def test_a_passing_remark_is_not_a_rule(text: str) -> None:
    assert found(text) == []


def test_on_held_out_messages_precision_is_above_90_and_recall_above_80_percent() -> None:
    right = sum(bool(found(text)) for text in HELD_OUT_CORRECTIONS)
    wrong = [text for text in HELD_OUT_REMARKS if found(text)]
    assert right / (right + len(wrong)) > 0.9, wrong
    assert right / len(HELD_OUT_CORRECTIONS) > 0.8


@pytest.mark.parametrize("text", [*CORRECTIONS, *HELD_OUT_CORRECTIONS])
def test_a_quote_is_verbatim(text: str) -> None:
    message = f"Thanks!\n- {text}\nAnd now the next thing."
    assert all(quote in message for quote in found(message))


def test_each_sentence_is_a_rule_of_its_own() -> None:
    text = "Looks good. Never push to main. Also always run the linter first. What is next?"
    assert found(text) == ["Never push to main.", "Also always run the linter first."]


def test_a_bare_no_belongs_to_the_sentence_after_it() -> None:
    assert found("No. Use tabs, not spaces.") == ["No. Use tabs, not spaces."]


@pytest.mark.parametrize(
    "text",
    [
        "```\nalways run the linter first\n```",
        "~~~sh\nnever push to main\n",
        "> always run the linter first",
        "| always | run the linter first |",
        "$ never push to main",
    ],
)
def test_code_and_quoted_lines_are_not_rules(text: str) -> None:
    assert found(text) == []


def test_a_long_message_is_not_a_correction() -> None:
    text = "Always run the linter first. " + "Then build the page. " * 60
    assert found(text) == []


def test_the_first_message_of_a_session_is_not_a_reply() -> None:
    for text in ("don't add comments to the code", "no, use the other helper"):
        assert corrections(text, answered=False, characters_max=MOST) == ()
    assert corrections("Never push to main.", answered=False, characters_max=MOST) != ()
