"""The gate over many lessons at once, with all that it looks at; and a page of their list."""

from collections.abc import Iterator
from functools import partial

from bench.comparison import OWN_TIME, Claim, Outcome, bounded, own_ms, require
from bench.run_folder import RunFolder
from everloop.adapters.system import system_ports
from everloop.app import PROJECTIONS, Engine
from everloop.lessons.gate import checks
from everloop.lessons.gate.case_queries import load_gate_cases
from everloop.lessons.model.events import (
    FeedbackGiven,
    LessonActivated,
    LessonNarrated,
    LessonProposed,
    LessonUsed,
    MemoryEvidence,
    Narrative,
)
from everloop.lessons.model.state import text_digest
from everloop.lessons.projections import queries
from everloop.lessons.settings import GateRules
from everloop.log import Draft, Log, open_log
from everloop.memory.model.commands import RememberItem
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.settings import Settings

LESSONS, MEMORIES, USES = 10_000, 500, 3
RULES = GateRules(age_hours_min=0)  # the lessons of a bench are young
WHOLE = Viewer(OWNER, ("*",))


def measures() -> dict[str, partial[Outcome]]:
    """Every measure by name."""
    return {"gate": partial(over_all, lessons=LESSONS)}


def over_all(run: RunFolder, *, lessons: int) -> Outcome:
    """List a page of lessons, and ask the gate about every lesson there is."""
    title = f"gate over {lessons:,} lessons, and a page of their list"
    claim = Claim("gate", title, "", "ms", "at most", goal=1_000, note=OWN_TIME)
    folder = run.folder("gate")
    folder.mkdir(parents=True)
    ports = system_ports(10)
    log = open_log(folder / "everloop.db", [view() for view in PROJECTIONS], ports=ports)
    _fill(Engine(log, ports, Settings()), lessons)

    def act() -> None:
        with log.reading() as reader:
            queries.lesson_page(reader, WHOLE, limit=50)
            found = load_gate_cases(
                reader, queries.lesson_positions(reader, WHOLE), ports.clock.now()
            )
            passing = sum(not checks.violations(case, RULES) for case in found)
        require(len(found) == lessons and passing == lessons, "the gate did not let all through")

    taken = [own_ms(act) for _ in range(5)]
    log.close()
    return bounded(claim, taken)


def _fill(engine: Engine, lessons: int) -> None:
    for number in range(MEMORIES):
        engine.do(RememberItem(f"mem-{number}", f"Part {number} was stale."))
    for number in range(lessons):
        _one(engine.log, number)


def _one(log: Log, number: int) -> None:
    """A lesson that lacks nothing: what its agent did, and the user's praise."""
    name, item = f"les-{number:06d}", f"mem-{number % MEMORIES}"
    words = (f"Check part {number}", f"Before step {number}, check that part.")
    digest = text_digest(*words)
    proposed = LessonProposed(
        name, *words, "user", "agent", f"s{number}", (MemoryEvidence(item),), "", "", None, ""
    )
    told = Narrative("A step.", "A stale part.", "It was checked.", "inferred")
    drafts = [
        Draft(proposed),
        Draft(LessonActivated(name), beside=(0,)),
        *_used(name, digest, number),
        Draft(LessonNarrated(name, digest, told, "", f"s{number}"), beside=(0,)),
    ]
    at = log.append(f"lesson:{name}", drafts, actor="agent:bench").facts[0].position
    praise = FeedbackGiven(name, digest, True, "praise", "thumbs", 1.0, False, "")
    log.append(f"lesson:{name}", [Draft(praise, (at,))], actor=OWNER)


def _used(name: str, digest: str, number: int) -> Iterator[Draft]:
    for use in range(USES):
        yield Draft(LessonUsed(name, digest, f"s{number + use}", f"use-{use}"), beside=(0,))
