"""The service of the operating system: its definition, and what is run to start and stop it."""

import plistlib
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from everloop.adapters.os_service.definition import launchd_agent, systemd_unit
from everloop.adapters.os_service.service_control import (
    LABEL,
    UNIT,
    LaunchdService,
    ProgramResult,
    SystemdService,
    plan_definition,
    service_manager,
)
from everloop.errors import Invalid, Unavailable

ODD = 'a folder/with "quotes" $HOME 100% \\back'
COMMAND = ["/bin/true", "--home", ODD, "serve"]


class FakeSystem:
    """The operating system's programs: remembers what was run, and answers as told."""

    def __init__(self, **answers: ProgramResult) -> None:
        self.ran: list[str] = []
        self._answers = answers

    def __call__(self, words: Sequence[str]) -> ProgramResult:
        """Run a program."""
        self.ran.append(" ".join(words))
        wanted = (answer for word, answer in self._answers.items() if word in words)
        return next(wanted, ProgramResult(0, ""))


@pytest.mark.promise("P-REACH-2")
@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT
    unit.write_text(systemd_unit(COMMAND, "/usr/bin:/opt/my tools/bin"))
    done = subprocess.run(  # noqa: S603 - a fixed program
        ["systemd-analyze", "--user", "--man=no", "verify", str(unit)],  # noqa: S607
        capture_output=True,
        text=True,
        check=False,
        env={"XDG_RUNTIME_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_unit_restarts_within_ten_seconds_and_leaves_workers_alone() -> None:
    lines = systemd_unit(["/usr/bin/everloop", "serve"], "/usr/bin").splitlines()
    assert "ExecStart=/usr/bin/everloop serve" in lines
    assert {"Restart=always", "RestartSec=2", "StartLimitIntervalSec=0"} <= set(lines)
    assert "KillMode=process" in lines


def test_systemd_expands_nothing_in_a_path() -> None:
    unit = systemd_unit(["/bin/true", ODD], "/usr/bin")
    quoted = 'ExecStart=/bin/true "a folder/with \\"quotes\\" $$HOME 100%% \\\\back"'
    assert quoted in unit.splitlines()


def test_the_agent_of_launchd_restarts_and_keeps_its_arguments() -> None:
    agent = plistlib.loads(launchd_agent(LABEL, COMMAND, "/usr/bin", "/tmp/x.log").encode())  # noqa: S108 - a name
    assert agent["ProgramArguments"] == COMMAND
    assert (agent["KeepAlive"], agent["RunAtLoad"], agent["ThrottleInterval"]) == (True, True, 2)


@pytest.mark.parametrize("word", ["a\nExecStartPre=/bin/evil", "a\x00b"])
def test_a_path_with_a_control_character_is_refused(word: str) -> None:
    with pytest.raises(Invalid):
        systemd_unit(["/bin/true", word], "/usr/bin")
    with pytest.raises(Invalid):
        launchd_agent(LABEL, ["/bin/true"], word, "/x")


def test_systemd_starts_it_now_at_boot_and_after_log_out(tmp_path: Path) -> None:
    system = FakeSystem()
    assert SystemdService(tmp_path, system).start() == []
    assert system.ran == [
        "systemctl --user daemon-reload",
        f"systemctl --user enable {UNIT}",
        f"systemctl --user restart {UNIT}",
        "loginctl enable-linger",
    ]


def test_without_lingering_the_user_is_told_what_to_run(tmp_path: Path) -> None:
    refused = FakeSystem(**{"enable-linger": ProgramResult(1, "denied")})
    (remark,) = SystemdService(tmp_path, refused).start()
    assert "sudo loginctl enable-linger" in remark


def test_a_failure_of_systemd_is_told_in_its_own_words(tmp_path: Path) -> None:
    broken = FakeSystem(restart=ProgramResult(1, "Failed to connect to bus\n"))
    with pytest.raises(Unavailable, match="Failed to connect to bus"):
        SystemdService(tmp_path, broken).start()


def test_the_state_says_whether_it_is_installed_and_runs(tmp_path: Path) -> None:
    service = SystemdService(
        tmp_path, FakeSystem(show=ProgramResult(0, "ActiveState=active\nNRestarts=3\n"))
    )
    assert not service.state().installed
    plan_definition(service, service.definition(COMMAND, "/usr/bin")).write()
    state = service.state()
    assert (state.installed, state.running) == (True, True)
    assert "NRestarts 3" in state.words


def test_launchd_loads_it_again_and_says_that_it_ends_at_log_out(tmp_path: Path) -> None:
    system = FakeSystem(print=ProgramResult(0, "\tstate = running\n\tpid = 7\n"))
    log = tmp_path / "logs/serve.log"
    service = LaunchdService(tmp_path, system, user_id=501, log_file=log)
    (remark,) = service.start()
    assert "log-out" in remark
    assert system.ran == [
        f"launchctl bootout gui/501/{LABEL}",
        f"launchctl bootstrap gui/501 {service.path}",
    ]
    assert service.state().running
    assert service.logs(5, follow=True) == ["tail", "-n", "5", "-f", str(log)]


def test_a_machine_with_neither_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="neither systemd nor launchd"):
        service_manager(tmp_path, tmp_path, system="freebsd", user_id=0)
