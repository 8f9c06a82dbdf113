"""`everloop demo`: a year of a fictional person, in a home of its own, to look around in."""

from argparse import Namespace
from pathlib import Path

from everloop.demo.load import load_demo
from everloop.errors import Conflict, Invalid
from everloop.interfaces.cli.output.screen import NAME, STRONG, Screen
from everloop.interfaces.cli.session import Session

FOLDER = "everloop-demo"


def demo(session: Session, args: Namespace) -> None:
    """Put the year into a folder that does not exist yet."""
    if args.folder and args.home:
        raise Invalid("both --home and FOLDER say where to", hint="Give one of them.")
    folder = Path(args.folder or args.home or FOLDER).expanduser()
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(
            f"{str(folder)!r} is not empty", hint="Name a folder that does not exist yet."
        )
    with session.progress("a year") as progress:
        done = load_demo(folder, session.settings, session.world, progress)

    def draw(screen: Screen) -> None:
        screen.say(
            ("A year of a fictional person is ready: ", STRONG),
            f"{done.messages:,} messages, {done.memories:,} memories, {done.lessons:,} lessons,"
            f" {done.summaries:,} summaries.",
        )
        screen.say("Look around with  ", (f"everloop --home {folder} serve", NAME))

    session.answer(done, draw)
