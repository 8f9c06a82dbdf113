"""What could put words, trust or devices in the user's name is the user's, at a terminal."""

from pathlib import Path

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.access import pairing
from everloop.access.commands import RevokeDevice
from everloop.app import Engine
from everloop.lessons.model.events import HostTrusted
from everloop.log import NoteWritten
from everloop.log.transfer.archive import IMPORTING, export_jsonl
from everloop.log.transfer.move import move_log

OF_THE_USER = (
    "log import {forged}.jsonl --yes",
    "move {forged}.db {home} --yes",
    "restore {forged}.db --yes",
    "restore --yes",
    "hosts trust evil",
    "lessons rules --adopt",
    "devices revoke nobody",
    "pair",
)


@pytest.fixture
def lived_in(everloop: CommandLine) -> CommandLine:
    """A data home with a note of the user and a backup."""
    everloop.typed("log", "note", "one")
    everloop("backup")
    return everloop


@pytest.fixture
def forged(lived_in: CommandLine, tmp_path: Path) -> Path:
    """A copy of the log to which an agent added a word in the user's name; all digests match."""
    path = tmp_path / "forged"
    with Engine.open(lived_in.home) as engine:
        copy = engine.log.open_other(path.with_suffix(".db"))
        move_log(engine.log, copy)
    copy.append("host:evil", [HostTrusted("evil")], actor="user")
    export_jsonl(copy, path.with_suffix(".jsonl"))
    copy.close()
    return path


@pytest.mark.promise("P-TRUST-1")
@pytest.mark.parametrize("words", OF_THE_USER)
def test_a_script_cannot_bring_in_words_trust_or_devices(
    lived_in: CommandLine, forged: Path, words: str
) -> None:
    before = lived_in.typed("log", "tail", "--json").out
    refused = lived_in(*words.format(forged=forged, home=lived_in.home).split())
    assert refused.code == 5
    assert "at a terminal" in refused.err
    assert lived_in.typed("log", "tail", "--json").out == before
    assert lived_in.typed("hosts", "--json").document == []


@pytest.mark.promise("P-TRUST-1")
def test_an_archive_never_extends_a_log_that_has_records(
    lived_in: CommandLine, forged: Path
) -> None:
    refused = lived_in.typed("log", "import", f"{forged}.jsonl", "--yes")
    assert refused.code == 4
    assert "everloop --home FOLDER log import" in refused.err
    assert lived_in.typed("hosts", "--json").document == []


def test_an_interrupted_import_goes_on(lived_in: CommandLine, forged: Path) -> None:
    with Engine.open(f"{forged}.db") as engine:
        tip = engine.log.record(engine.log.head).digest.hex()
    (lived_in.home / "everloop.db").with_suffix(IMPORTING).write_text(tip)
    done = lived_in.typed("log", "import", f"{forged}.jsonl", "--yes", "--json").document
    assert done["records"] == 1
    assert not list(lived_in.home.glob(f"*{IMPORTING}"))


@pytest.mark.promise("P-TRUST-2")
def test_what_was_revoked_stays_revoked_when_a_backup_is_restored(everloop: CommandLine) -> None:
    code = everloop.typed("pair", "--json").document["code"]
    kept = everloop.typed("pair", "--json").document["code"]
    everloop.typed("hosts", "trust", "former")
    with Engine.open(everloop.home) as engine:
        lost = pairing.pair_device(engine, engine.ports, "lost phone", way="code", via=code)
        mine = pairing.pair_device(engine, engine.ports, "mine", way="code", via=kept)
    copy = everloop("backup", "--json").document["path"]
    with Engine.open(everloop.home) as engine:
        engine.do(RevokeDevice(lost.device_id))
    everloop.typed("hosts", "distrust", "former")
    assert everloop.typed("restore", copy, "--yes").code == 0
    with Engine.open(everloop.home) as engine:
        assert pairing.authenticate_device(engine.log, lost.text) is None
        assert pairing.authenticate_device(engine.log, mine.text) is not None
        assert [host.trusted for host in engine.lessons.hosts()] == [False]


@pytest.mark.promise("P-TRUST-1")
def test_a_script_cannot_rewind_to_before_the_users_retraction(everloop: CommandLine) -> None:
    everloop.typed("hosts", "trust", "evil")
    everloop("log", "note", "what an agent wrote")
    everloop.typed("log", "retract", "1", "--yes")
    everloop.typed("log", "retract", "2", "--yes")
    assert everloop("log", "rewind", "3", "--yes").code == 5  # the note would count again
    assert everloop("log", "rewind", "2", "--yes").code == 5  # and the trust
    assert everloop.typed("hosts", "--json").document == []
    assert everloop.typed("log", "rewind", "3", "--yes").code == 0


@pytest.mark.promise("P-TRUST-1")
@pytest.mark.parametrize(
    ("stream", "actor"),
    [
        ("notes", "agent:other"),
        ("task:t1", "engine"),
        ("inbox:r1", "engine"),
        ("world:w", "engine"),
    ],
)
def test_a_script_undoes_only_its_own_facts_and_none_of_tasks_and_worlds(
    everloop: CommandLine, stream: str, actor: str
) -> None:
    everloop("log", "note", "its own")
    with Engine.open(everloop.home) as engine:
        at = engine.log.append(stream, [NoteWritten("not its own")], actor=actor).position
    assert everloop("log", "retract", str(at), "--yes").code == 5
    assert everloop("log", "rewind", str(at - 1), "--yes").code == 5
    assert everloop("log", "retract", str(at - 1), "--yes").code == 0
