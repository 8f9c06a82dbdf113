"""What every model must do, whatever it is. Each rule is a function that takes a model."""

import threading
from collections.abc import Callable

from everloop.completion import read_completion, text_message
from everloop.ports import Delta, Finish, Model, Params, Prompt, ToolCall, Usage

PROMPT = Prompt(
    (
        text_message("user", "My dog is called Rex."),
        text_message("assistant", "Noted."),
        text_message("user", "Who is Rex?"),
    ),
    system="Answer in one sentence.\n- 2026-03-01: Rex is the name of a dog.",
)
PARAMS = Params(tokens_max=64, timeout_s=20)

Rule = Callable[[Model], None]


def an_answer_is_pieces_then_usage_then_a_finish(model: Model) -> None:
    *pieces, usage, finish = list(model.generate(PROMPT, PARAMS))
    assert all(isinstance(piece, Delta | ToolCall) for piece in pieces)
    assert "".join(piece.text for piece in pieces if isinstance(piece, Delta)).strip()
    assert isinstance(usage, Usage)
    assert isinstance(finish, Finish)


def usage_names_the_model_and_counts(model: Model) -> None:
    answer = read_completion(model.generate(PROMPT, PARAMS))
    assert answer.usage.model == model.name != ""
    assert answer.usage.tokens_in > 0
    assert answer.usage.tokens_out > 0


def an_answer_has_no_empty_piece(model: Model) -> None:
    assert Delta("") not in list(model.generate(PROMPT, PARAMS))


def a_closed_stream_gives_nothing_more(model: Model) -> None:
    stream = model.generate(PROMPT, PARAMS)
    next(stream)
    stream.close()
    assert list(stream) == []
    stream.close()


def a_stream_may_be_closed_before_it_is_read(model: Model) -> None:
    stream = model.generate(PROMPT, PARAMS)
    stream.close()
    assert list(stream) == []


def a_stream_that_ended_stays_ended(model: Model) -> None:
    stream = model.generate(PROMPT, PARAMS)
    assert list(stream)
    assert list(stream) == []


def two_answers_at_a_time_do_not_mix(model: Model) -> None:
    first, second = model.generate(PROMPT, PARAMS), model.generate(PROMPT, PARAMS)
    begun = [next(first), next(second)]
    assert [read_completion(second).finish, read_completion(first).finish] == [Finish("stop")] * 2
    assert all(isinstance(piece, Delta) for piece in begun)


RULES: tuple[Rule, ...] = (
    an_answer_is_pieces_then_usage_then_a_finish,
    usage_names_the_model_and_counts,
    an_answer_has_no_empty_piece,
    a_closed_stream_gives_nothing_more,
    a_stream_may_be_closed_before_it_is_read,
    a_stream_that_ended_stays_ended,
    two_answers_at_a_time_do_not_mix,
)


def stopping_wakes_the_reader(model: Model, waiting: threading.Event) -> None:
    """For a model that gives one piece and then falls silent: `waiting` is set when it does."""
    stream = model.generate(PROMPT, PARAMS)
    read: list[object] = []
    reader = threading.Thread(target=lambda: read.extend(stream))
    reader.start()
    assert waiting.wait(60)
    stream.close()
    reader.join(60)
    assert not reader.is_alive()
    assert not any(isinstance(chunk, Finish) for chunk in read)
