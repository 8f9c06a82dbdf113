"""Data without an audience of its own is for the user, and for those granted everything."""

import io
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import NamedTuple

import pytest
from tests.adapters.exports.samples import claude, write_list
from tests.interfaces.cli.commandline import CommandLine

from everloop.access import pairing
from everloop.app import Engine
from everloop.inbox import Choice, RaiseRequest
from everloop.interfaces.cli.entry import run
from everloop.interfaces.cli.parsing.command_table import COMMANDS
from everloop.interfaces.cli.streams import Streams
from everloop.workers.model.commands import ProposeTask
from everloop.workers.model.spec import TaskSpec
from everloop.worlds import OpenWorld
from everloop.worlds.model.commands import AuthorCharacter
from everloop.worlds.model.values import CharacterSheet

SECRET = "Zanzibar"  # noqa: S105 - a word that only the user wrote
OFFLINE = {"EVERLOOP_MEMORY_EMBEDDER": "none", "EVERLOOP_MODELS_NARRATIVE": "offline"}
LET_IN = "everloop grants allow agent:cli '*'"
WITHHELD = (  # what shows what is recorded without asking for whom it is
    "log tail",
    "log tail --follow",
    "log show 1",
    "log branches",
    "threads",
    "threads show {thread}",
    "threads export {out}",
    "threads imports",
    "chat",
    "hosts",
    "devices",
    "log export {out}",
    "backup --folder {out}",
)
ELSEWHERE = {  # commands that the sweep below leaves out, each with its reason
    "log import": "is the user's: test_user_only.py",
    "log sink": "needs a warehouse",
    "log stand": "changes what the others would see",
    "restore": "is the user's: test_user_only.py",
    "lessons capture": "reads files that the caller has",
    "skills import": "reads files that the caller has",
    "packs install": "reads files that the caller has",
    "threads import": "reads files that the caller has",
    "worlds import": "is the user's: test_exchange.py",
    "memories import": "reads files that the caller has",
    "import loop-engine": "reads files that the caller has",
    "service install": "is the user's: test_service.py",
    "service status": "shows nothing that is recorded",
    "service logs": "is the user's: test_service.py",
    "service remove": "is the user's: test_service.py",
    "install": "writes into the settings of a host",
    "hook": "speaks as the host that runs it: test_install.py",
    "tour": "has a home of its own",
    "demo": "has a home of its own",
}


class Home(NamedTuple):
    """A data home with the secret word in every kind of data, and the names of these data."""

    everloop: CommandLine
    item: str
    lesson: str
    thread: str
    device: str
    out: Path

    def asked(self, words: str) -> list[str]:
        """The arguments of a command, with the names filled in."""
        return words.format(**self._asdict()).split()


class _Heard(io.StringIO):
    """A stream that is read while it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = Event()

    def flush(self) -> None:
        """Signal that there is something to read."""
        self.begun.set()


@pytest.fixture
def home(lived_in: Home, tmp_path: Path) -> Home:
    """A copy of the data home that a test may change."""
    copied = Path(shutil.copytree(lived_in.everloop.home, tmp_path / "home"))
    return lived_in._replace(everloop=CommandLine(copied, OFFLINE), out=tmp_path / "out")


@pytest.fixture
def home_with_a_world(home: Home) -> Home:
    """A copy with a story in it, which no grant includes."""
    with Engine.open(home.everloop.home) as engine:
        engine.log.create_tree("world:world-1", actor="user")
        engine.do(OpenWorld("world-1", SECRET, SECRET, "2026-05-01T18:00", SECRET))
    return home


@pytest.fixture(scope="module")
def lived_in(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Write every kind of data, each with the secret word in it."""
    tmp_path = tmp_path_factory.mktemp("lived_in")
    cli = CommandLine(tmp_path / "home", OFFLINE)
    item = cli.typed("remember", f"{SECRET} is the canary", "--scope", "project:alpha", "--json")
    rule = ("lessons", "propose", f"Mind {SECRET}", "--body", f"As in {SECRET}", "--json")
    lesson = cli.typed(*rule).document["lesson_id"]
    for sort in ("personas", "teams"):
        cli.typed(sort, "write", "pal", "--title", SECRET, "--body", SECRET)
    skill = tmp_path / "skills" / "ship"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: ship\ndescription: {SECRET}\n---\n\n{SECRET}\n")
    cli.typed("skills", "import", str(skill.parent))
    thread = cli.typed("threads", "open", SECRET, "--json").document["thread_id"]
    said = write_list(tmp_path / f"{SECRET}.json", claude(1, f"Where is {SECRET}?", name=SECRET))
    cli.typed("threads", "import", str(said), "--yes")
    cli.typed("log", "fork", SECRET)
    cli.typed("hosts", "trust", f"{SECRET}-host")
    code = cli.typed("pair", "--json").document["code"]
    with Engine.open(cli.home) as engine:
        engine.do(RaiseRequest("request-1", "question", SECRET, SECRET, (Choice("ok", "OK"),)))
        engine.do(ProposeTask("task-1", TaskSpec(SECRET, command=("echo", SECRET))))
        device = pairing.pair_device(engine, engine.ports, SECRET, way="code", via=code)
    return Home(cli, item.document["item_id"], lesson, thread, device.device_id, tmp_path / "out")


@pytest.mark.promise("P-CLI-6")
@pytest.mark.parametrize("words", WITHHELD)
def test_an_agent_without_a_grant_is_refused_with_a_hint(home: Home, words: str) -> None:
    for options in ((), ("--json",)):
        refused = home.everloop(*home.asked(words), *options, piped=f"What of {SECRET[:4]}?")
        assert refused.code == 5
        assert SECRET not in refused.out + refused.err
        assert LET_IN in refused.out + refused.err
    assert not home.out.exists()


@pytest.mark.promise("P-CLI-6")
@pytest.mark.parametrize("words", [each for each in WITHHELD if "--follow" not in each])
def test_an_agent_with_a_grant_for_everything_can_read(home: Home, words: str) -> None:
    home.everloop.typed("grants", "allow", "agent:cli", "*")
    assert home.everloop(*home.asked(words), piped=f"What of {SECRET}?").code == 0


def test_a_partial_grant_is_not_enough_and_a_grant_can_be_revoked(home: Home) -> None:
    def code() -> int:
        return home.everloop("log", "show", "1").code

    home.everloop.typed("grants", "allow", "agent:cli", "project:*", "user", "global")
    assert SECRET in home.everloop("recall", "canary").out
    assert code() == 5
    home.everloop.typed("grants", "allow", "agent:cli", "*")
    assert code() == 0
    home.everloop.typed("grants", "revoke", "agent:cli")
    assert code() == 5


@pytest.mark.promise("P-CLI-6")
def test_no_grant_shows_memories_restricted_to_witnesses(home: Home) -> None:
    home.everloop.typed("grants", "allow", "agent:cli", "*")
    home.everloop.typed("remember", "Ours alone", "--witness", "agent:cli")
    assert home.everloop("log", "tail").code == 0
    home.everloop.typed("remember", "Theirs alone", "--witness", "agent:other")
    refused = home.everloop("log", "tail")
    assert refused.code == 5
    assert LET_IN not in refused.err
    assert home.everloop.typed("log", "tail").code == 0


def test_following_the_log_stops_when_the_grant_is_revoked(home: Home) -> None:
    home.everloop.typed("grants", "allow", "agent:cli", "*")
    out, environment = _Heard(), {"EVERLOOP_HOME": str(home.everloop.home), **OFFLINE}
    streams = Streams(io.StringIO(), out, io.StringIO(), environment)
    with ThreadPoolExecutor() as pool:
        following = pool.submit(run, ("log", "tail", "--follow", "-n", "1"), streams)
        assert out.begun.wait(60)
        home.everloop.typed("grants", "revoke", "agent:cli")
        home.everloop.typed("log", "note", f"More of {SECRET}")
        assert following.result(timeout=60) == 5
    assert "More of" not in out.getvalue()


SWEPT = (
    *WITHHELD,
    "threads open mine",
    "threads pin {thread}",
    "threads unpin {thread}",
    "threads delete {thread} --yes",
    "models",
    "models allow http://127.0.0.1:9",
    "models withdraw http://127.0.0.1:9",
    "usage",
    "worlds",
    "worlds characters",
    "worlds imports",
    "worlds undo",
    "worlds export x --to {out}",
    "upgrade",
    "worlds show world-1",
    "worlds say world-1 hello",
    "worlds rewind world-1 message-1",
    "worlds knows world-1 Ada",
    "inbox",
    "inbox show request-1",
    "inbox answer request-1 ok",
    "inbox read request-1",
    "push",
    "push test phone",
    "voice",
    "voice check",
    "voice call-me task-1",
    "inbox snooze request-1",
    "work mine",
    "tasks",
    "tasks show task-1",
    "tasks search words",
    "tasks storage",
    "tasks start task-1",
    "tasks retry task-1",
    "tasks steer task-1 hello",
    "tasks cancel task-1 --yes",
    "tasks rules",
    "tasks allow agent:x",
    "tasks disallow rule-1",
    "schedules",
    "schedules remove schedule-1",
    "threads rename {thread} theirs",
    "threads archive {thread}",
    "threads restore {thread}",
    "search canary --mode text",
    "remember the canary --scope project:alpha",
    "recall canary",
    "explain {item} canary",
    "memories",
    "memories show {item}",
    "memories export {out}",
    "zoom {item}",
    "revise {item} --title x",
    "rate {item} 3",
    "pin {item}",
    "unpin {item}",
    "forget {item} --preview",
    "forget {item} --erase --yes",
    "grants list",
    "grants allow agent:cli *",
    "grants revoke agent:cli",
    "lessons",
    "lessons show {lesson}",
    "lessons recall canary",
    "lessons stale",
    "lessons propose mine --body mine",
    "lessons edit {lesson} --body x",
    "lessons narrate {lesson} --trigger a --failure b --correction c",
    "lessons activate {lesson}",
    "lessons use {lesson}",
    "lessons feedback {lesson} --up",
    "lessons withdraw {lesson} sig-1",
    "lessons verdict {lesson} true",
    "lessons promote {lesson}",
    "lessons rules",
    "lessons rules --adopt",
    "lessons discard {lesson}",
    "lessons supersede {lesson} les-2",
    "gate {lesson}",
    "manifest canary",
    *(f"{sort} {verb}" for sort in ("personas", "teams") for verb in ("show pal", "write pal")),
    *(
        f"{sort} {verb}"
        for sort in ("personas", "teams")
        for verb in ("activate pal", "remove pal")
    ),
    "personas",
    "personas archive pal",
    "teams",
    "teams archive pal",
    "skills",
    "skills show ship",
    "skills activate ship",
    "skills archive ship",
    "skills remove ship",
    "skills export {out}",
    "packs",
    "log note mine",
    "log fork mine",
    "log rewind 0 --preview",
    "log rewind 0 --yes",
    "log retract 1 --preview",
    "log retract 1 --yes",
    "log purge 1 --preview",
    "log purge 1 --yes",
    "log scrub",
    "verify",
    "rebuild",
    "backup",
    "backup --list",
    "move {everloop.home} {out}",
    "doctor",
    "pair",
    "devices revoke nobody",
    "devices rename nobody x",
    "hosts trust x",
    "hosts distrust x",
    "hosts token x",
    "settings",
)


@pytest.mark.promise("P-CLI-6")
@pytest.mark.parametrize("words", SWEPT)
def test_no_command_shows_user_data_to_an_agent_without_a_grant(
    home_with_a_world: Home, words: str
) -> None:
    home = home_with_a_world
    for options in ((), ("--json",)):
        answer = home.everloop(*home.asked(words), *options, piped="What do you know?")
        assert SECRET.casefold() not in (answer.out + answer.err).casefold()
        assert "internal error" not in answer.err


def test_every_command_is_tested_for_access_or_excluded_with_a_reason() -> None:
    named = [" ".join(spec.words) for spec in COMMANDS if not spec.starts_server]
    reached = {max((n for n in named if f"{words} ".startswith(f"{n} ")), key=len, default="")
               for words in SWEPT}  # fmt: skip
    assert reached | set(ELSEWHERE) == set(named)
    assert not reached & set(ELSEWHERE)


WORKS = (
    "verify",
    "rebuild",
    "backup",
    "backup --list",
    "doctor",
    "settings",
    "log scrub",
)


@pytest.mark.promise("P-CLI-6")
@pytest.mark.parametrize("words", WORKS)
def test_commands_that_show_no_data_work_without_a_grant(home: Home, words: str) -> None:
    assert home.everloop(*home.asked(words)).code == 0


def test_an_agent_without_a_grant_exports_to_no_pipe_either(home: Home) -> None:
    os.mkfifo(home.out)  # what is no file shows what is written to it, such as /dev/stdout
    assert home.everloop("log", "export", str(home.out), "--yes").code == 5


def test_an_agent_can_retract_its_own_facts_and_sees_no_others(everloop: CommandLine) -> None:
    everloop("log", "note", "what I wrote")
    everloop.typed("log", "note", SECRET, "--stream", f"notes:{SECRET}", "--because", "1")
    drawn = everloop("log", "retract", "1", "--preview")
    assert "2 facts would be hidden: notes.note_written (1)." in drawn.out
    assert "what I wrote" in drawn.out
    assert "… and 1 more" in drawn.out
    theirs = everloop("log", "retract", "2", "--preview").out
    assert theirs.endswith("1 fact would be hidden.\nFacts by others are not shown.\n")
    done = everloop("log", "retract", "1", "--yes", "--json")
    impact = done.document["impact"]
    assert ([one["position"] for one in impact["hides"]], impact["not_shown"]) == ([1], 1)
    back = everloop("log", "retract", str(done.document["positions"][0]), "--preview", "--json")
    assert back.document["not_shown"] == 1
    assert everloop("log", "purge", "1", "--preview", "--json").document["not_shown"] == 1
    assert SECRET not in drawn.out + done.out + back.out
    assert everloop.typed("log", "retract", "3", "--preview", "--json").document["not_shown"] == 0


@pytest.mark.promise("P-CLI-6")
def test_no_grant_shows_a_story_to_an_agent_in_the_raw_log(everloop: CommandLine) -> None:
    everloop.typed("grants", "allow", "agent:cli", "*")
    assert everloop("log", "tail").code == 0
    with Engine.open(everloop.home) as engine:
        engine.do(AuthorCharacter("ada", CharacterSheet("Ada", SECRET)))
    for words in (("log", "tail"), ("log", "show", "2"), ("log", "export", "-", "--yes")):
        answer = everloop(*words)
        assert answer.code == 5
        assert SECRET not in answer.out + answer.err
