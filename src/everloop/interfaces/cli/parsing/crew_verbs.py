"""The commands about skills, personas, teams, packs and the manifest, one row each.

Nothing here imports more than `argparse`, so that help is quick.
"""

from argparse import ArgumentParser
from collections.abc import Callable, Iterator

from everloop.interfaces.cli.parsing.verb import Verb, count, filled, nothing

STATUSES = ("draft", "active", "archived")
LESSON_STATUSES = ("pending", "active", "promoted", "discarded", "superseded")
MODES = ("text", "semantic", "hybrid")
IN_USE = "What an agent writes is a draft until you put it to use."


def _listed(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--status", action="append", choices=STATUSES, help="only these; may be given several times"
    )
    _for(parser)


def _name(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="which one")


def _shown(parser: ArgumentParser) -> None:
    _name(parser)
    _for(parser)


def _retired(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--reason", default="", help="kept in the log, so say nothing secret")
    parser.add_argument(
        "--force", action="store_true", help="also if you wrote it, or it came with a pack"
    )


def _written(parser: ArgumentParser) -> None:
    _name(parser)
    parser.add_argument("--title", help="what to call it; by default, its name")
    parser.add_argument("--description", help="in a sentence, what it is for")
    parser.add_argument("--body", help="all there is to say; `-` reads it from standard input")
    parser.add_argument(
        "--scope", help="user (by default), global, team:NAME, skill:NAME or project:NAME"
    )


def _team(parser: ArgumentParser) -> None:
    _written(parser)
    parser.add_argument(
        "--member",
        action="append",
        help="persona:NAME, skill:NAME, or a user's name; may be given several times",
    )


def _folder(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder", type=filled, help="a skill's folder, or one that holds such folders"
    )


def _export(parser: ArgumentParser) -> None:
    parser.add_argument("folder", type=filled, help="where to; it is made if it is not there")
    parser.add_argument("names", nargs="*", metavar="name", help="which; by default, all")


def _install(parser: ArgumentParser) -> None:
    parser.add_argument("pack", help="a folder, or a JSON file")
    parser.add_argument("--preview", action="store_true", help="show what is in it, and stop")


def _manifest(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="*", help="also show memories that fit this")
    parser.add_argument(
        "--status",
        action="append",
        choices=LESSON_STATUSES,
        help="lessons of this status; by default, those on trial; may be given several times",
    )
    parser.add_argument("--lessons", type=count, metavar="N", help="how many lessons")
    parser.add_argument("--memories", type=count, metavar="N", help="how many memories")
    parser.add_argument("--mode", choices=MODES, default="hybrid", help="how memory is searched")
    parser.add_argument(
        "--path",
        action="append",
        default=[],
        metavar="FILE",
        help="a file at hand: skills that wait for other paths are left out",
    )
    parser.add_argument(
        "--no-record", action="store_true", help="do not note that these lessons were shown"
    )


def _for(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="principal",
        type=filled,
        metavar="PRINCIPAL",
        help="look through another's eyes",
    )


def _rows(word: str, writing: Callable[[ArgumentParser], None] | None) -> Iterator[Verb]:
    """What can be done with each of the three sorts."""
    one = word.removesuffix("s")
    yield Verb((word,), f"list the {word}", "crew.browse", "listed", _listed)
    yield Verb(
        (word, "show"),
        f"show one {one}, with all that it says",
        "crew.browse",
        "show",
        _shown,
    )
    if writing:
        yield Verb(
            (word, "write"),
            f"write a {one}, or write it anew",
            "crew.write",
            "write",
            writing,
        )
    yield Verb((word, "activate"), f"put a {one} to use", "crew.browse", "activate", _name, IN_USE)
    yield Verb((word, "archive"), f"put a {one} out of use", "crew.browse", "archive", _retired)
    yield Verb(
        (word, "remove"),
        f"let a {one} go; its name is free then",
        "crew.browse",
        "remove",
        _retired,
    )


CREW_VERBS: tuple[Verb, ...] = (
    Verb(
        ("manifest",),
        "show what a host's model is told: lessons, memories, skills, personas, teams",
        "crew.manifest",
        "manifest",
        _manifest,
        "Put its output into a prompt. What was left out, and why, is in the ledger that it keeps.",
    ),
    *_rows("skills", None),
    Verb(
        ("skills", "import"),
        "take in skills from SKILL.md folders",
        "crew.write",
        "import_skills",
        _folder,
        "A skill that is here already is revised. Hooks and scripts are stored, and never run.",
    ),
    Verb(
        ("skills", "export"),
        "write skills as SKILL.md folders",
        "crew.write",
        "export_skills",
        _export,
        "What was imported comes out as it was. A file that is there and differs is left as it is.",
    ),
    *_rows("personas", _written),
    *_rows("teams", _team),
    Verb(
        ("packs",),
        "list the packs that brought something",
        "crew.packs",
        "listed",
        nothing,
    ),
    Verb(
        ("packs", "install"),
        "take in a pack of lessons, skills, personas and teams",
        "crew.packs",
        "install",
        _install,
        "Run it again for a newer version: what you changed or let go stays as you want it."
        " Without a terminal, all of it waits for your word.",
    ),
)

CREW_GROUPS: dict[str, str] = {
    "skills": "keep what a host's model can do, with its instructions",
    "personas": "keep who a host's model can be",
    "teams": "keep who works together",
    "packs": "install lessons, skills, personas and teams that others made",
}
