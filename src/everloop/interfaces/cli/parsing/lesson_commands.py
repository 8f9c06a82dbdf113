"""The specifications of the commands on lessons and on the promotion gate.

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.argument_types import parse_count, parse_non_empty
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments

STATUSES = ("pending", "active", "promoted", "discarded", "superseded")
SHOWN_AS = {  # the words of `STATUS_LABELS`, which help must not import
    "proposed": "pending",
    "in-trial": "active",
    "approved": "promoted",
    "replaced": "superseded",
}
CONFIDENCES = ("observed", "inferred", "speculative")
PAGE = 20
HITS = 5


def _status(word: str) -> str:
    """A status by its name, or by the word that people read."""
    return SHOWN_AS.get(word.lower().replace(" ", "-"), word)


def _list(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--status",
        action="append",
        type=_status,
        choices=STATUSES,
        help="only this status (repeatable; default: all except discarded); the words of the list"
        " work too: proposed, in-trial, approved, replaced",
    )
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=PAGE,
        metavar="N",
        help="number of lessons per page",
    )
    parser.add_argument("--page", type=parse_count, default=1, metavar="N", help="page to show")
    _for(parser)


def _recall(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="+", help="question or search query")
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=HITS,
        metavar="N",
        help="number of results to show",
    )
    _for(parser)


def _lesson(parser: ArgumentParser) -> None:
    parser.add_argument("lesson", help="ID of the lesson")


def _show(parser: ArgumentParser) -> None:
    _lesson(parser)
    _for(parser)


def _propose(parser: ArgumentParser) -> None:
    parser.add_argument("description", help="the rule in one sentence")
    parser.add_argument(
        "--body", required=True, help="the full text; `-` reads it from standard input"
    )
    parser.add_argument(
        "--scope", default="user", help="user, global, team:NAME, skill:NAME or project:NAME"
    )
    parser.add_argument("--skill", default="", metavar="NAME", help="the skill it improves")
    _evidence(parser)


def _edit(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("--description", help="the new rule in one sentence")
    parser.add_argument("--body", help="the new text; `-` reads it from standard input")


def _narrate(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("--trigger", help="what triggered it")
    parser.add_argument("--failure", help="what went wrong")
    parser.add_argument("--correction", help="what fixed it")
    parser.add_argument(
        "--confidence", choices=CONFIDENCES, default="inferred", help="how certain this is"
    )
    _evidence(parser)


def _evidence(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--cites",
        action="append",
        default=[],
        metavar="MEMORY",
        help="a memory that supports it (repeatable)",
    )
    parser.add_argument(
        "--quote",
        action="append",
        default=[],
        metavar="WORDS",
        help="an exact quote from a memory (repeatable)",
    )


def _use(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument(
        "--use-id", default="", metavar="ID", help="an ID for this use; each ID counts once"
    )


def _feedback(parser: ArgumentParser) -> None:
    _lesson(parser)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--up", dest="helpful", action="store_true", help="it helped")
    how.add_argument("--down", dest="helpful", action="store_false", help="it did harm")
    parser.add_argument(
        "--signal", default="", metavar="ID", help="an ID for this feedback; each ID counts once"
    )


def _withdraw(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("signal", help="ID of the feedback, as `everloop gate` shows it")


def _verdict(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument(
        "command", nargs="+", metavar="COMMAND", help="command to run, after `--`; no shell is used"
    )


def _discard(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument(
        "--reason", default="", help="reason; stored in the log, so do not include secrets"
    )
    _force(parser)


def _supersede(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("by", help="ID of the lesson that replaces it")
    _force(parser)


def _rules(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--adopt", action="store_true", help="take the values of the settings into the log"
    )


def _force(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--force", action="store_true", help="allow this for lessons from you or from a pack"
    )


def _for(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="principal",
        type=parse_non_empty,
        metavar="PRINCIPAL",
        help="show what this user or agent can see",
    )


def _capture(parser: ArgumentParser) -> None:
    parser.add_argument(
        "paths",
        nargs="+",
        metavar="path",
        help="a file, or a folder to read recursively, e.g. ~/.claude/projects",
    )
    parser.add_argument(
        "--scope", default="", help="scope of the lessons (default: the project of each file)"
    )
    parser.add_argument("--preview", action="store_true", help="show what would change and exit")
    parser.add_argument(
        "-w", "--watch", action="store_true", help="keep watching for changes until interrupted"
    )


def _import_loop_engine(parser: ArgumentParser) -> None:
    parser.add_argument("path", help="the folder that LOOP_HOME names, such as ~/.loop")
    parser.add_argument("--preview", action="store_true", help="show what would be imported")
    parser.add_argument(
        "--activate", action="store_true", help="activate what was active or promoted there"
    )


LESSON_COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(("lessons",), "list lessons by status", "lessons.browse", "list_lessons", _list),
    CommandSpec(
        ("lessons", "show"),
        "show a lesson in full",
        "lessons.browse",
        "show",
        _show,
    ),
    CommandSpec(
        ("lessons", "recall"),
        "search lessons",
        "lessons.browse",
        "recall",
        _recall,
    ),
    CommandSpec(
        ("lessons", "stale"),
        "list active lessons without recent feedback",
        "lessons.browse",
        "stale",
        no_arguments,
        "Use `everloop lessons feedback` to say whether a lesson helps.",
    ),
    CommandSpec(
        ("lessons", "propose"),
        "propose a lesson",
        "lessons.write",
        "propose",
        _propose,
        "At a terminal the author is you, otherwise an agent. A proposal is not trusted until the"
        " gate promotes it.",
    ),
    CommandSpec(
        ("lessons", "capture"),
        "propose lessons from CLAUDE.md, memory folders, transcripts, learnings.md or JSON lines",
        "lessons.capture",
        "capture",
        _capture,
        "From transcripts, only corrections are used (`no, use X`, `always …`), each with the"
        " message it appears in. Each entry is proposed once. Captured lessons are always recorded"
        " as an agent's proposals, even when you run the command: text in a file is not proof that"
        " you wrote it.",
    ),
    CommandSpec(
        ("lessons", "edit"),
        "change the text of a lesson",
        "lessons.write",
        "edit",
        _edit,
        "Uses, positive feedback, verdicts and the narrative of the earlier text no longer count.",
    ),
    CommandSpec(
        ("lessons", "narrate"),
        "explain why a lesson holds, or let a model explain it",
        "lessons.write",
        "narrate",
        _narrate,
        "Without --trigger, --failure and --correction, a model writes the explanation. It may"
        " decline.",
    ),
    CommandSpec(
        ("lessons", "activate"),
        "activate a lesson",
        "lessons.lifecycle",
        "activate",
        _lesson,
    ),
    CommandSpec(
        ("lessons", "use"), "record that a lesson was used", "lessons.lifecycle", "use", _use
    ),
    CommandSpec(
        ("lessons", "feedback"),
        "rate a lesson as helpful or harmful",
        "lessons.lifecycle",
        "feedback",
        _feedback,
        "A thumbs-down ends a promotion and counts until you withdraw it.",
    ),
    CommandSpec(
        ("lessons", "withdraw"),
        "withdraw feedback",
        "lessons.lifecycle",
        "withdraw",
        _withdraw,
    ),
    CommandSpec(
        ("lessons", "verdict"),
        "test a lesson with a command and record the result",
        "lessons.lifecycle",
        "verdict",
        _verdict,
        "Example: `everloop lessons verdict LESSON -- make test`. Exit code 0 means passed. A"
        " command that you run at a terminal counts as independent confirmation; one that a script"
        " runs is recorded as a claim and does not count towards promotion. The log stores the"
        " command and a digest of its output, not the output.",
    ),
    CommandSpec(
        ("lessons", "promote"),
        "promote a lesson if it meets all requirements",
        "lessons.lifecycle",
        "promote",
        _lesson,
        "The gate decides from recorded facts; nobody can override it. If requirements are missing,"
        " the exit code is 2.",
    ),
    CommandSpec(
        ("lessons", "rules"),
        "show the thresholds of the promotion gate, or adopt those of the settings",
        "lessons.gate_rules",
        "rules",
        _rules,
        "The strictest of the settings and the log counts. The log takes the settings' values at"
        " the first proposal; after that, only you change them there, with --adopt at a terminal.",
    ),
    CommandSpec(
        ("lessons", "discard"), "discard a lesson", "lessons.lifecycle", "discard", _discard
    ),
    CommandSpec(
        ("lessons", "supersede"),
        "replace a lesson with another one",
        "lessons.lifecycle",
        "supersede",
        _supersede,
    ),
    CommandSpec(
        ("gate",),
        "show which requirements a lesson is missing for promotion",
        "lessons.browse",
        "gate",
        _show,
        "Each check shows what it found and what would satisfy it.",
    ),
    CommandSpec(
        ("import", "loop-engine"),
        "import the home of loop-engine: memories, lessons, skills, personas and teams",
        "lessons.import_loop_engine",
        "import_loop_engine",
        _import_loop_engine,
        "Everything comes in as `agent:loop-engine`: lessons are pending and entries are drafts."
        " With --activate, at a terminal, what was active or promoted there is active here. Uses"
        " and praise are counters there and stay behind; blame comes along.",
    ),
)
