"""Which messages of a conversation a prompt leaves out, whatever room there is.

What the built-in model said is not the words of a language model, so no model is shown them as its
own. A turn that failed leaves no half answer behind; its question stays only if it is the newest
such and was not asked again, so failures do not pile up.
"""

from collections.abc import Mapping, Sequence

from everloop.thread.model.state import BUILT_IN
from everloop.thread.queries.threads import ThreadMessage
from everloop.thread.quoting import collapse_whitespace

FAILED = "failed"


def left_out_messages(
    said: Sequence[ThreadMessage], asked: ThreadMessage, questions: Mapping[str, str]
) -> set[str]:
    """The ids of the messages to leave out; `questions` has the question of each turn."""
    answers = [one for one in said if one.role == "assistant"]
    failed = [one for one in answers if one.state == FAILED]
    answered = {questions.get(one.turn_id, "") for one in answers if one.state != FAILED}
    unanswered = {questions.get(one.turn_id, "") for one in failed} - answered
    again = {_words(one) for one in said if one.message_id not in unanswered} | {_words(asked)}
    open_ = [one for one in said if one.message_id in unanswered and _words(one) not in again]
    return (
        {one.message_id for one in answers if one.model == BUILT_IN}
        | {one.message_id for one in failed}
        | (unanswered - {one.message_id for one in open_[-1:]})
    )


def _words(one: ThreadMessage) -> str:
    return collapse_whitespace(one.text).casefold()
