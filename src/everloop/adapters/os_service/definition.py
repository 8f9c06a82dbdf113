"""The definition of the service: a systemd user unit, or a launchd agent.

Both restart a server that ended, whatever the reason, after `RESTART_S` seconds, so that it answers
again within ten. A restart leaves running workers alone: each has a process of its own.
"""

import plistlib
import re
from collections.abc import Sequence
from typing import Final

from everloop.errors import Invalid

RESTART_S: Final = 2
STOP_S: Final = 20
_PLAIN = re.compile(r"[A-Za-z0-9_./:@+,=-]+")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def systemd_unit(command: Sequence[str], search_path: str) -> str:
    """The text of a systemd user unit that keeps `command` running.

    Raises:
        Invalid: an argument has a control character.
    """
    return f"""\
[Unit]
Description=Everloop: the web app and its background services
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart={" ".join(map(_quote, command))}
Environment={_quote(f"PATH={search_path}", dollar="$")}
Restart=always
RestartSec={RESTART_S}
TimeoutStopSec={STOP_S}
# Workers have processes of their own and go on while the server restarts.
KillMode=process
UMask=0077

[Install]
WantedBy=default.target
"""


def launchd_agent(label: str, command: Sequence[str], search_path: str, log_file: str) -> str:
    """The text of a launchd agent (a property list) that keeps `command` running.

    Raises:
        Invalid: an argument has a control character.
    """
    for word in (*command, search_path, log_file):
        _require_printable(word)
    agent = {
        "Label": label,
        "ProgramArguments": list(command),
        "EnvironmentVariables": {"PATH": search_path},
        "RunAtLoad": True,
        "KeepAlive": True,
        "ThrottleInterval": RESTART_S,
        "ExitTimeOut": STOP_S,
        "AbandonProcessGroup": True,  # workers go on while the server restarts
        "Umask": 0o077,
        "StandardOutPath": log_file,
        "StandardErrorPath": log_file,
    }
    return plistlib.dumps(agent).decode()


def _quote(word: str, dollar: str = "$$") -> str:
    """A word as systemd reads it: no specifiers, no variables, quoted if need be."""
    _require_printable(word)
    safe = word.replace("%", "%%").replace("$", dollar)
    if _PLAIN.fullmatch(safe):
        return safe
    escaped = safe.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _require_printable(word: str) -> None:
    if _CONTROL.search(word):
        raise Invalid(
            f"{word!r} has a control character and cannot be part of a service",
            hint="Use a path without line breaks.",
        )
