"""The row of `everloop lessons capture`. Nothing here imports more than `argparse`."""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.verb import Verb


def _capture(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="path",
        help="a file, or a folder with all that is below it, such as ~/.claude/projects",
    )
    parser.add_argument(
        "--scope", default="", help="whom the lessons are for; by default, the project they lie in"
    )
    parser.add_argument("--preview", action="store_true", help="show what would change, and stop")
    parser.add_argument(
        "-w", "--watch", action="store_true", help="go on: take in what comes, until interrupted"
    )


CAPTURE_VERBS: tuple[Verb, ...] = (
    Verb(
        ("lessons", "capture"),
        "propose lessons from CLAUDE.md, memory folders, transcripts, learnings.md or JSON lines",
        "lessons.capture",
        "capture",
        _capture,
        "From transcripts only corrections are taken (`no, use X`, `always …`), each with the"
        " message it stands in. The same entry is proposed once. What is captured is an agent's"
        " proposal, whoever runs this: a file is not your word.",
    ),
)
