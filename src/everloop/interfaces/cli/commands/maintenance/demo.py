"""`everloop demo`: create a data home with a year of sample data."""

from argparse import Namespace
from pathlib import Path

from everloop.demo import load_demo
from everloop.errors import Conflict, Invalid
from everloop.interfaces.cli.output.screen import BOLD, NAME, Screen
from everloop.interfaces.cli.session import Session

FOLDER = "everloop-demo"


def demo(session: Session, args: Namespace) -> None:
    """Create the sample data in a new folder."""
    if args.folder and args.home:
        raise Invalid("--home and FOLDER cannot be combined", hint="Give one of them.")
    folder = Path(args.folder or session.named_home or FOLDER).expanduser()
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(
            f"{str(folder)!r} is not empty",
            hint="Give a folder that does not exist yet: everloop demo FOLDER",
        )
    with session.progress("creating sample data") as progress:
        done = load_demo(folder, session.settings, session.ports, progress)

    def draw(screen: Screen) -> None:
        screen.paragraph(
            ("Created a year of sample data: ", BOLD),
            f"{done.messages:,} messages, {done.memories:,} memories, {done.lessons:,} lessons,"
            f" {done.summaries:,} summaries.",
        )
        screen.advice("To explore it: ", (f"everloop --home {folder} serve", NAME))

    session.print_result(done, draw)
