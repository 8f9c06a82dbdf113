"""The commands about lessons and the gate, one row each.

Nothing here imports more than `argparse`, so that help is quick.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.verb import Verb, count, filled, nothing

STATUSES = ("pending", "active", "promoted", "discarded", "superseded")
CONFIDENCES = ("observed", "inferred", "speculative")
PAGE = 20
HITS = 5


def _listed(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--status",
        action="append",
        choices=STATUSES,
        help="only these; by default, all but the discarded; may be given several times",
    )
    parser.add_argument(
        "-n", "--limit", type=count, default=PAGE, metavar="N", help="how many to show"
    )
    parser.add_argument("--page", type=count, default=1, metavar="N", help="which part of the list")
    _for(parser)


def _recall(parser: ArgumentParser) -> None:
    parser.add_argument("question", nargs="+", help="what to look for")
    parser.add_argument(
        "-n", "--limit", type=count, default=HITS, metavar="N", help="how many to show"
    )
    _for(parser)


def _lesson(parser: ArgumentParser) -> None:
    parser.add_argument("lesson", help="its id")


def _shown(parser: ArgumentParser) -> None:
    _lesson(parser)
    _for(parser)


def _propose(parser: ArgumentParser) -> None:
    parser.add_argument("description", help="the rule in a sentence")
    parser.add_argument(
        "--body", required=True, help="all there is to say; `-` reads it from standard input"
    )
    parser.add_argument(
        "--scope", default="user", help="user, global, team:NAME, skill:NAME or project:NAME"
    )
    parser.add_argument("--skill", default="", metavar="NAME", help="the skill it makes better")
    _evidence(parser)


def _edit(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("--description", help="the new rule in a sentence")
    parser.add_argument("--body", help="the new body; `-` reads it from standard input")


def _narrate(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("--trigger", help="what set it off")
    parser.add_argument("--failure", help="what went wrong")
    parser.add_argument("--correction", help="what put it right")
    parser.add_argument(
        "--confidence", choices=CONFIDENCES, default="inferred", help="how it is known"
    )
    _evidence(parser)


def _evidence(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--cites",
        action="append",
        default=[],
        metavar="MEMORY",
        help="a memory it stands on; may be given several times",
    )
    parser.add_argument(
        "--quote",
        action="append",
        default=[],
        metavar="WORDS",
        help="words that a memory holds, letter by letter; may be given several times",
    )


def _use(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument(
        "--use-id", default="", metavar="ID", help="a name for this use; it counts once"
    )


def _feedback(parser: ArgumentParser) -> None:
    _lesson(parser)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--up", dest="helpful", action="store_true", help="it helped")
    how.add_argument("--down", dest="helpful", action="store_false", help="it harmed")
    parser.add_argument(
        "--signal", default="", metavar="ID", help="a name for this signal; it counts once"
    )


def _withdraw(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("signal", help="its name, as `everloop gate` shows it")


def _verdict(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument(
        "command", nargs="+", metavar="word", help="the command, after `--`; no shell reads it"
    )


def _discard(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("--reason", default="", help="kept in the log, so say nothing secret")
    _force(parser)


def _supersede(parser: ArgumentParser) -> None:
    _lesson(parser)
    parser.add_argument("by", help="the lesson that takes its place")
    _force(parser)


def _force(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--force", action="store_true", help="also if you wrote it, or it came with a pack"
    )


def _for(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--for",
        dest="principal",
        type=filled,
        metavar="PRINCIPAL",
        help="look through another's eyes",
    )


LESSON_VERBS: tuple[Verb, ...] = (
    Verb(("lessons",), "list lessons by status", "lessons.browse", "listed", _listed),
    Verb(
        ("lessons", "show"),
        "show one lesson with all that it says",
        "lessons.browse",
        "show",
        _shown,
    ),
    Verb(
        ("lessons", "recall"),
        "find lessons that fit a question",
        "lessons.browse",
        "recall",
        _recall,
    ),
    Verb(
        ("lessons", "stale"),
        "show lessons on trial that nobody says anything of",
        "lessons.browse",
        "stale",
        nothing,
        "Say with `lessons feedback` whether one helps.",
    ),
    Verb(
        ("lessons", "propose"),
        "put a rule forward",
        "lessons.write",
        "propose",
        _propose,
        "At a terminal it is your own; otherwise, an agent's. Nothing trusts it yet.",
    ),
    Verb(
        ("lessons", "edit"),
        "change its words",
        "lessons.write",
        "edit",
        _edit,
        "Uses, praise, verdicts and the narrative of its older words count no more.",
    ),
    Verb(
        ("lessons", "narrate"),
        "say why it holds, or let a model say it",
        "lessons.write",
        "narrate",
        _narrate,
        "Without --trigger, --failure and --correction a model is asked, which may decline.",
    ),
    Verb(("lessons", "activate"), "put it on trial", "lessons.lifecycle", "activate", _lesson),
    Verb(("lessons", "use"), "note that it was acted on", "lessons.lifecycle", "use", _use),
    Verb(
        ("lessons", "feedback"),
        "say that it helped, or that it harmed",
        "lessons.lifecycle",
        "feedback",
        _feedback,
        "A thumbs-down ends a promotion, and stands until you withdraw it.",
    ),
    Verb(
        ("lessons", "withdraw"),
        "take praise or blame back",
        "lessons.lifecycle",
        "withdraw",
        _withdraw,
    ),
    Verb(
        ("lessons", "verdict"),
        "run a command that tries it, and record how that ends",
        "lessons.lifecycle",
        "verdict",
        _verdict,
        "`everloop lessons verdict LESSON -- make test`. Exit code 0 passes. What you run at a"
        " terminal is a verdict from outside; what a script runs is a claim, and supports nothing."
        " The command is kept in the log; of its output, only the digest.",
    ),
    Verb(
        ("lessons", "promote"),
        "ask the gate to promote it",
        "lessons.lifecycle",
        "promote",
        _lesson,
        "The gate decides from facts, whoever asks. If it says no, the exit code is 2.",
    ),
    Verb(("lessons", "discard"), "let it go", "lessons.lifecycle", "discard", _discard),
    Verb(
        ("lessons", "supersede"),
        "let another take its place",
        "lessons.lifecycle",
        "supersede",
        _supersede,
    ),
    Verb(
        ("gate",),
        "show what a lesson lacks to be promoted",
        "lessons.browse",
        "gate",
        _shown,
        "Each check says which fact it found, and what would satisfy it.",
    ),
)
