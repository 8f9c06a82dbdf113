"""The specifications of the commands of worlds.

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.argument_types import parse_count
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments

WORLD_FORMS = ("json", "markdown", "epub", "chat", "lorebook")
CARD_FORMS = ("png", "json", "charx", "everloop")


def _list(parser: ArgumentParser) -> None:
    parser.add_argument("--archived", action="store_true", help="include archived worlds")


def _import(parser: ArgumentParser) -> None:
    parser.add_argument("path", help="card, lorebook, chat, export, or folder of SillyTavern")
    parser.add_argument(
        "--cast",
        action="append",
        default=[],
        metavar="[GROUP=]NAME,NAME",
        help="which two characters of a group play; give it once for each group",
    )
    parser.add_argument("--player", default="", metavar="NAME", help="your name in a chat")
    parser.add_argument(
        "--into", default="", metavar="WORLD", help="world that gets an imported lorebook"
    )
    parser.add_argument(
        "--owner-lore",
        action="store_true",
        help="the lorebook on a card is known to its character alone",
    )


def _undo(parser: ArgumentParser) -> None:
    parser.add_argument(
        "import_id", nargs="?", default="last", help="ID of the import (default: the last one)"
    )


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("what", help="ID or title of a world, or ID or name of a character or book")
    parser.add_argument(
        "--format",
        choices=tuple(dict.fromkeys((*WORLD_FORMS, *CARD_FORMS))),
        default="json",
        help="json, markdown, epub, chat or lorebook of a world; png, json, charx or everloop"
        " of a character (default: json)",
    )
    parser.add_argument("--scene", default="", metavar="ID", help="only this scene, as json")
    parser.add_argument(
        "--to", default=".", metavar="PATH", help="file or folder to write to (default: here)"
    )


def _show(parser: ArgumentParser) -> None:
    parser.add_argument("world", help="ID of the world")
    parser.add_argument(
        "-n", "--limit", type=parse_count, default=20, metavar="N", help="number of lines to show"
    )


def _say(parser: ArgumentParser) -> None:
    parser.add_argument("world", help="ID of the world")
    parser.add_argument("text", help="what you say; *actions* between asterisks, ((asides))")


def _rewind(parser: ArgumentParser) -> None:
    parser.add_argument("world", help="ID of the world")
    parser.add_argument("message", help="ID of the line to go back to before")


def _knows(parser: ArgumentParser) -> None:
    parser.add_argument("world", help="ID of the world")
    parser.add_argument("name", help="name of a character, or `you`")


WORLD_COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(("worlds",), "list worlds", "worlds.import_export", "list_all", _list),
    CommandSpec(
        ("worlds", "characters"),
        "list the characters and lorebooks of the library",
        "worlds.import_export",
        "library",
        no_arguments,
    ),
    CommandSpec(("worlds", "show"), "show where a story stands", "worlds.play", "show", _show),
    CommandSpec(
        ("worlds", "say"),
        "say a line in a story",
        "worlds.play",
        "say",
        _say,
        "Only you can, at a terminal. The reply is written while `everloop serve` runs.",
    ),
    CommandSpec(
        ("worlds", "rewind"),
        "go back to before a line",
        "worlds.play",
        "rewind",
        _rewind,
        "The story so far stays on its own branch.",
    ),
    CommandSpec(
        ("worlds", "knows"),
        "show what someone knows",
        "worlds.play",
        "knows",
        _knows,
        "What they witnessed or were told, and nothing that they missed.",
    ),
    CommandSpec(
        ("worlds", "import"),
        "import character cards, lorebooks, chats, a SillyTavern folder or an exported world",
        "worlds.import_export",
        "import_files",
        _import,
        "What was imported before is skipped, so an interrupted import can be run again."
        " `everloop worlds undo` undoes the whole import. See `docs/worlds.md`.",
    ),
    CommandSpec(
        ("worlds", "imports"),
        "list imports into worlds with what was kept, changed and dropped",
        "worlds.import_export",
        "list_imports",
        no_arguments,
    ),
    CommandSpec(
        ("worlds", "undo"), "undo a whole import", "worlds.import_export", "undo_import", _undo
    ),
    CommandSpec(
        ("worlds", "export"),
        "export a world, a scene, a character or a lorebook",
        "worlds.import_export",
        "export",
        _export,
        "JSON can be imported again without loss; Markdown and EPUB are books to read.",
    ),
)

WORLD_GROUPS: dict[str, str] = {"worlds": "list, play, import and export worlds and characters"}
