"""What the command line says about commands that cannot be carried out as typed."""

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.errors import NotFound, Rejected
from everloop.interfaces.cli.output.exit_codes import EXIT_CODES

INVALID, NOT_FOUND = EXIT_CODES[Rejected], EXIT_CODES[NotFound]


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("recall", "nuts", "-n", "3"), "everloop recall --help"),
        (("memories", "show", "x", "--all"), "everloop memories show --help"),
        (("log",), "everloop log --help"),
    ],
)
def test_a_usage_error_names_the_help_of_its_command(
    everloop: CommandLine, words: tuple[str, ...], hint: str
) -> None:
    answer = everloop.typed(*words)

    assert answer.code == INVALID
    assert f"`{hint}`" in answer.err


@pytest.mark.parametrize("words", [("threads", "export"), ("skills", "export")])
def test_only_required_arguments_are_called_required(
    everloop: CommandLine, words: tuple[str, ...]
) -> None:
    assert "are required: folder\n" in everloop.typed(*words).err


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("work",), "nothing to do", "Say what to do"),
        (("work", "x", "--command"), "--command needs a program", "last"),
        (("work", "x", "--at", "2020-01-01"), "'2020-01-01' has passed", "later"),
        (("inbox", "snooze", "x", "never"), "not a date or time", "`tomorrow`"),
        (("remember", "x", "--until", "someday"), "not a date or time", "`tomorrow`"),
        (("tasks", "--limit", "x"), "'x' is not a number of at least 1", "tasks --help"),
        (("grants", "allow", "agent:x", "all"), "'all' is not a scope", "'*' for everything"),
    ],
)
def test_an_impossible_request_says_what_to_type_instead(
    everloop: CommandLine, words: tuple[str, ...], message: str, hint: str
) -> None:
    answer = everloop.typed(*words)

    assert answer.code == INVALID
    assert message in answer.err
    assert hint in " ".join(answer.err.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("skills", "import", "nowhere"), "no folder 'nowhere'"),
        (("worlds", "import", "nowhere.png"), "No such file or directory\n"),
        (("models", "withdraw", "nope"), "'nope' is not allowed"),
    ],
)
def test_what_does_not_exist_is_named_plainly(
    everloop: CommandLine, words: tuple[str, ...], message: str
) -> None:
    answer = everloop.typed(*words)

    assert answer.code == NOT_FOUND
    assert message in answer.err
    assert "memories" not in answer.err


def test_without_a_language_model_models_says_so(everloop: CommandLine) -> None:
    assert "No language model answers" in everloop.typed("models").out


def test_a_branch_with_a_space_in_its_name_is_quoted_in_the_next_command(
    everloop: CommandLine,
) -> None:
    assert "log stand 'my idea'" in " ".join(everloop.typed("log", "fork", "my idea").out.split())


def test_a_list_that_someone_may_not_see_is_not_called_empty(everloop: CommandLine) -> None:
    everloop.typed("remember", "The roof leaks.")

    assert "No memories yet" not in everloop.typed("memories", "--for", "agent:x").out
