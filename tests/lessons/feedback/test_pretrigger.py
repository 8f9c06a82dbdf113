"""The pretrigger passes feedback and filters out ordinary turns."""

import pytest

from everloop.lessons.feedback.pretrigger import is_interrupt, may_contain_feedback
from everloop.lessons.feedback.settings import FeedbackSettings

SHORT = FeedbackSettings().short_words
FEEDBACK = """
thanks!
perfect
exactly what I wanted
great, that works now
Nice. Now do the same for the other file.
that's right
No.
nope, that is wrong
that's not what I asked for
it still fails with the same error
still not working
doesn't work
That didnt work either, the build is red and CI complains about the lock file again.
this is broken now
you broke the tests
stop adding comments
don't do that
wtf
why did you remove the tests
I told you not to touch the migrations
wrong file
revert that please
you should have asked first
good job, that was exactly what I needed
It works perfectly, thank you so much for the quick fix and the explanation.
isnt working
that is a bug
this is useless, I asked for three lines and got a whole framework around them
You ignored the lesson about the changelog again, and the release notes are empty.
how come you still use npm
Danke, genau so!
das funktioniert nicht
c'est parfait, merci
ça ne marche pas
perfecto, gracias
não, está errado
è sbagliato
dat klopt niet
""".strip().splitlines()
ORDINARY = """
Please add a function that parses the header and returns the fields as a map.
What does the scheduler do when two jobs have the same priority and both are late?
The report goes to the finance team every Monday morning, so it must be there by eight.
Let's look at the second module and see how it reads the configuration at start.
I was in the mountains last week and took about two hundred pictures of the lake.
Write a summary of the meeting for the people who could not come, in five sentences.
Could you explain how the cache decides what to throw away when it is full?
Rename the class to Parser and move it into its own file next to the lexer.
My sister is coming on Friday, and we want to cook something with the children.
Then open a pull request with a short description and ask Maria to look at it.
""".strip().splitlines()


@pytest.mark.parametrize("text", FEEDBACK)
def test_feedback_passes_the_filter(text: str) -> None:
    assert may_contain_feedback(text, short_words=SHORT)


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_turns_are_filtered_out(text: str) -> None:
    assert not may_contain_feedback(text, short_words=SHORT)


def test_a_word_of_thanks_in_a_long_turn_is_courtesy() -> None:
    assert may_contain_feedback("thanks a lot", short_words=SHORT)
    long = "Thanks, next I would like to see how the second service reads its settings at start"
    assert not may_contain_feedback(long, short_words=SHORT)


@pytest.mark.parametrize("sign", ["'", "\u2019", ""])
def test_an_apostrophe_may_be_straight_or_curly_or_left_out(sign: str) -> None:
    long = f"I tried it on both machines with a clean checkout and it doesn{sign}t work on either"
    assert may_contain_feedback(long, short_words=SHORT)


def test_a_word_inside_another_is_not_that_word() -> None:
    assert not may_contain_feedback("open the notebook on Bugatti", short_words=SHORT)


def test_an_empty_turn_has_no_feedback() -> None:
    assert not may_contain_feedback("", short_words=SHORT)


def test_a_long_paste_is_scanned_quickly() -> None:
    assert not may_contain_feedback("it is all so very really " * 40_000, short_words=SHORT)


@pytest.mark.parametrize(
    "text", ["[Request interrupted by user]", "\n[Request interrupted by user for tool use]"]
)
def test_the_marker_of_an_interrupt_is_recognised(text: str) -> None:
    assert is_interrupt(text)
    assert not is_interrupt(f"I saw {text}")
