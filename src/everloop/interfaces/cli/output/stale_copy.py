"""What a command says that reads this machine's copy, because the server does not answer."""

from datetime import datetime

from everloop.interfaces.cli.output.screen import WARNING, Screen
from everloop.interfaces.cli.output.times import local_with_age
from everloop.log import Log


def draw_behind(screen: Screen, log: Log, now: datetime) -> None:
    """How old the copy is, that nothing can be written, and why."""
    if log.behind is None:
        return
    reason, level = log.behind
    head = log.head
    screen.say(
        ("This is this machine's copy", WARNING),
        f", level with the server at {local_with_age(level.at, now)}, up to position {head:,}."
        " What came since is not in it, and nothing can be written.",
    )
    if head < level.position:
        screen.say(
            ("It is not whole", WARNING),
            f": it was being filled anew, and went up to position {level.position:,} before.",
        )
    screen.notes([str(reason), reason.hint])
