"""`everloop hosts`: which hosts the user trusts. Only the user decides, at a terminal."""

from tests.interfaces.cli.commandline import CommandLine


def test_at_first_no_host_is_trusted(everloop: CommandLine) -> None:
    assert "No trusted hosts" in everloop.typed("hosts").out
    assert everloop.typed("--json", "hosts").document == []


def test_the_user_trusts_and_distrusts_a_host(everloop: CommandLine) -> None:
    assert (
        "is trusted to report your feedback" in everloop.typed("hosts", "trust", "claude-code").out
    )
    known = everloop.typed("--json", "hosts").document
    assert [(each["host"], each["trusted"]) for each in known] == [("claude-code", True)]
    assert ")  trusted" in everloop.typed("hosts").out
    assert "No change" in everloop.typed("hosts", "trust", "claude-code").out
    assert everloop.typed("hosts", "distrust", "claude-code").code == 0
    assert everloop.typed("--json", "hosts").document[0]["trusted"] is False
    assert ")  not trusted" in everloop.typed("hosts").out


def test_an_agent_cannot_trust_a_host(everloop: CommandLine) -> None:
    for word in ("trust", "distrust"):
        answer = everloop("--yes", "hosts", word, "claude-code")
        assert answer.code == 5
        assert "Only the user can" in answer.err
    assert everloop.typed("--json", "hosts").document == []


def test_a_host_token_is_shown_once_listed_and_revoked(
    everloop: CommandLine,
) -> None:
    shown = everloop.typed("hosts", "token", "claude-code").out
    assert "claude mcp add --transport http everloop http://127.0.0.1:7777/mcp --header" in shown
    (known,) = everloop.typed("--json", "devices").document
    assert (known["name"], known["way"]) == ("claude-code", "host")
    secret = shown.partition(f"{known['device_id']}.")[2].split()[0]
    assert len(secret) >= 43
    assert secret not in everloop.typed("--json", "log", "tail", "--limit", "100").out
    assert everloop.typed("devices", "revoke", "claude-code").code == 0
    assert everloop.typed("--json", "devices").document == []


def test_an_agent_gets_no_token(everloop: CommandLine) -> None:
    answer = everloop("--yes", "hosts", "token", "claude-code")
    assert answer.code == 5
    assert "only the user can give a host a token" in answer.err


def test_an_invalid_host_name_is_refused(everloop: CommandLine) -> None:
    assert everloop.typed("hosts", "trust", "agent:x").code == 2
