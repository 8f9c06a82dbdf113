"""The specifications of the commands on skills, personas, teams, packs and the manifest.

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator

from everloop.interfaces.cli.parsing.argument_types import parse_count, parse_non_empty
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments

STATUSES = ("draft", "active", "archived")
LESSON_STATUSES = ("pending", "active", "promoted", "discarded", "superseded")
MODES = ("text", "semantic", "hybrid")
ACTIVATION = "Entries written by an agent are drafts until you activate them."


def _list(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--status", action="append", choices=STATUSES, help="only this status (repeatable)"
    )
    _for(parser)


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="name of the entry")


def _show(parser: ArgumentParser) -> None:
    _name(parser)
    _for(parser)


def _retire(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument(
        "--reason", default="", help="reason; stored in the log, so do not include secrets"
    )
    parser.add_argument(
        "--force", action="store_true", help="allow this for entries from you or from a pack"
    )


def _write(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--title", help="title (default: the name)")
    parser.add_argument("--description", help="purpose in one sentence")
    parser.add_argument("--body", help="the full text; `-` reads it from standard input")
    parser.add_argument(
        "--scope", help="user (default), global, team:NAME, skill:NAME or project:NAME"
    )


def _write_team(parser: ArgumentParser) -> None:
    _write(parser)
    parser.add_argument(
        "--member",
        action="append",
        help="persona:NAME, skill:NAME or the name of a user (repeatable)",
    )


def _folder(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=parse_non_empty, help="a skill folder, or a folder of skill folders"
    )


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=parse_non_empty, help="target folder; created if missing")
    parser.add_argument(
        "names", nargs="*", default=[], metavar="name", help="skills to export (default: all)"
    )


def _install(parser: ArgumentParser) -> None:
    parser.add_argument("pack", help="a folder, or a JSON file")
    parser.add_argument(
        "--preview", action="store_true", help="show what the pack contains and exit"
    )


def _manifest(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="*", help="also include memories that match this")
    parser.add_argument(
        "--status",
        action="append",
        choices=LESSON_STATUSES,
        help="only lessons of this status (repeatable; default: active)",
    )
    parser.add_argument(
        "--lessons", type=parse_count, metavar="N", help="maximum number of lessons"
    )
    parser.add_argument(
        "--memories", type=parse_count, metavar="N", help="maximum number of memories"
    )
    parser.add_argument("--mode", choices=MODES, default="hybrid", help="memory search mode")
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="FILE",
        help="a file in use; skills limited to other paths are left out (repeatable)",
    )
    parser.add_argument(
        "--no-record", action="store_true", help="do not record that these lessons were shown"
    )


def _for(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="principal",
        type=parse_non_empty,
        metavar="PRINCIPAL",
        help="show what this user or agent can see",
    )


def _entry_commands(
    word: str, writing: Callable[[ArgumentParser], None] | None
) -> Iterator[CommandSpec]:
    """The commands that skills, personas and teams have in common."""
    one = word.removesuffix("s")
    yield CommandSpec((word,), f"list {word}", "crew.browse", "list_entries", _list)
    yield CommandSpec((word, "show"), f"show a {one} in full", "crew.browse", "show", _show)
    if writing:
        yield CommandSpec(
            (word, "write"),
            f"create or update a {one}",
            "crew.write",
            "write",
            writing,
        )
    yield CommandSpec(
        (word, "activate"), f"activate a {one}", "crew.browse", "activate", _name, ACTIVATION
    )
    yield CommandSpec((word, "archive"), f"archive a {one}", "crew.browse", "archive", _retire)
    yield CommandSpec(
        (word, "remove"),
        f"remove a {one}; its name can be used again",
        "crew.browse",
        "remove",
        _retire,
    )


CREW_COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(
        ("manifest",),
        "print the context for a model: lessons, memories, skills, personas, teams",
        "crew.manifest",
        "manifest",
        _manifest,
        "Add the output to a prompt. Everloop records what was included, what was left out, and"
        " why.",
    ),
    *_entry_commands("skills", None),
    CommandSpec(
        ("skills", "import"),
        "import skills from SKILL.md folders",
        "crew.write",
        "import_skills",
        _folder,
        "Existing skills are updated. Hooks and scripts are stored but never run.",
    ),
    CommandSpec(
        ("skills", "export"),
        "export skills as SKILL.md folders",
        "crew.write",
        "export_skills",
        _export,
        "Imported skills are exported unchanged. Existing files that differ are not overwritten.",
    ),
    *_entry_commands("personas", _write),
    *_entry_commands("teams", _write_team),
    CommandSpec(
        ("packs",),
        "list installed packs",
        "crew.packs",
        "list_packs",
        no_arguments,
    ),
    CommandSpec(
        ("packs", "install"),
        "install a pack of lessons, skills, personas and teams",
        "crew.packs",
        "install",
        _install,
        "Run it again to update to a newer version; entries that you changed or removed are kept"
        " that way. Without a terminal, nothing in it is used until you activate it.",
    ),
)

CREW_GROUPS: dict[str, str] = {
    "skills": "manage skills: instructions for what a model can do",
    "personas": "manage personas: roles that a model can take",
    "teams": "manage teams of personas, skills and users",
    "packs": "install shared lessons, skills, personas and teams",
}
