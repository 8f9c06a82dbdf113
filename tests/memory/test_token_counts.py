"""Token counts: the estimate is marked as one, and its error is bounded."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.memory.token_counts import ESTIMATE, TokenCounter, estimate_tokens

# Counted in November 2026 with cl100k, o200k and Claude 2's tokenizer; the mean of the three.
COUNTED = {
    "english": (
        "The log is the only truth. Every table, index, vector and in-memory state is a fold of"
        " it, can be deleted, and is rebuilt equal to the live one.",
        36.3,
    ),
    "conversation": (
        "Hey! I finally went to the pottery class yesterday, it was so much fun. How's the new"
        " job going? Are you still planning to visit Lisbon in September?",
        34.7,
    ),
    "python": (
        "def title_of(text: str) -> str:\n    first = text.strip().partition('\\n')[0]\n"
        "    if len(first) <= 80:\n        return first\n    return f'{first[:80]}…'\n",
        45.7,
    ),
    "json": (
        '{"session": {"share@5": 0.913, "share@10": 0.961}, "turn": {"share@5": 0.734},'
        ' "questions": 997}',
        41.0,
    ),
    "chinese": ("我们昨天决定把网站搬到新的服务器。因为旧的太慢了。安娜下周五会检查备份。", 35.0),
    "japanese": (
        "昨日の会議で、新しいサーバーに移行することを決めました。費用は月に四千円です。",
        36.7,
    ),
    "german": (
        "Wir haben gestern beschlossen, die Seite für größere Gruppen später umzuziehen.",
        21.7,
    ),
    "russian": (
        "Вчера мы решили перенести сайт на новый сервер, потому что старый слишком медленный.",
        31.0,
    ),
}


@pytest.mark.parametrize("name", COUNTED)
def test_the_estimate_is_near_what_tokenizers_count(name: str) -> None:
    text, counted = COUNTED[name]
    assert abs(estimate_tokens(text) / counted - 1) < 0.2


def test_the_average_error_of_the_estimate_is_small() -> None:
    errors = [abs(estimate_tokens(text) / counted - 1) for text, counted in COUNTED.values()]
    assert sum(errors) / len(errors) < 0.1


def test_an_estimate_says_that_it_is_one() -> None:
    assert not ESTIMATE.exact
    assert TokenCounter("model", len).exact
    assert TokenCounter("model", len)("four") == 4


def test_an_empty_text_has_no_tokens() -> None:
    assert estimate_tokens("") == 0


def test_a_very_long_run_of_spaces_is_counted_in_linear_time() -> None:
    assert estimate_tokens(" " * 1_000_000) == 1


@given(st.text(max_size=200), st.text(max_size=200))
def test_parts_never_count_less_than_the_whole(one: str, other: str) -> None:
    assert estimate_tokens(f"{one}\n{other}") <= estimate_tokens(one) + estimate_tokens(other) + 1


@given(st.text(min_size=1, max_size=400))
def test_a_text_has_at_least_one_token_and_at_most_about_one_per_byte(text: str) -> None:
    assert 1 <= estimate_tokens(text) <= math.ceil(1.5 * len(text.encode("utf-8", "replace")))
