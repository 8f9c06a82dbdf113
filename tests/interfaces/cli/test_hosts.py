"""`everloop hosts`: whom the user trusts. Only the user says so, at a terminal."""

from tests.interfaces.cli.commandline import CommandLine


def test_at_first_no_host_is_trusted(everloop: CommandLine) -> None:
    assert "You trust no host yet" in everloop.typed("hosts").out
    assert everloop("--json", "hosts").document == []


def test_the_user_trusts_a_host_and_no_longer(everloop: CommandLine) -> None:
    assert "may pass on your words" in everloop.typed("hosts", "trust", "claude-code").out
    known = everloop("--json", "hosts").document
    assert [(each["host"], each["trusted"]) for each in known] == [("claude-code", True)]
    assert "passes them on" in everloop.typed("hosts").out
    assert "It is so already" in everloop.typed("hosts", "trust", "claude-code").out
    assert everloop.typed("hosts", "distrust", "claude-code").code == 0
    assert everloop("--json", "hosts").document[0]["trusted"] is False
    assert "does not count" in everloop.typed("hosts").out


def test_an_agents_shell_cannot_trust_a_host(everloop: CommandLine) -> None:
    for word in ("trust", "distrust"):
        answer = everloop("--yes", "hosts", word, "claude-code")
        assert answer.code == 5
        assert "Only the user can" in answer.err
    assert everloop("--json", "hosts").document == []


def test_a_name_that_is_none_is_refused(everloop: CommandLine) -> None:
    assert everloop.typed("hosts", "trust", "agent:x").code == 2
