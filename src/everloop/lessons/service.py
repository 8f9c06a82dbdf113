"""The lesson service: what the doors call to propose, use, judge, promote and find lessons.

Every change is a command; the door's `Context` says who acts. A lesson outside the actor's audience
is reported as not found, whatever the operation.
"""

import hashlib
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

import msgspec

from everloop.completion import Declined
from everloop.errors import NotFound, Unavailable
from everloop.lessons.feedback.classifier import BUILT_IN_MODEL
from everloop.lessons.feedback.pretrigger import may_contain_feedback
from everloop.lessons.gate.checks import GLOBAL_SCOPE
from everloop.lessons.gate.evidence import locate_quotes
from everloop.lessons.gate.standing import (
    GateResult,
    StaleLesson,
    gate_results,
    stale_lessons,
    with_current_age,
)
from everloop.lessons.idempotent_requests import LESSON_TRACES
from everloop.lessons.lesson_ids import content_lesson_id
from everloop.lessons.model.commands import (
    ActivateLesson,
    DiscardLesson,
    DistrustHost,
    EditLesson,
    GiveFeedback,
    HearWords,
    LogPhase,
    NarrateLesson,
    PromoteLesson,
    ProposeLesson,
    RecordVerdict,
    RefuseNarrative,
    SetGateRules,
    SupersedeLesson,
    TrustHost,
    UseLesson,
    WithdrawFeedback,
)
from everloop.lessons.model.events import (
    Evidence,
    LessonPromoted,
    LessonProposed,
    MemoryEvidence,
    Narrative,
    PromotionRefused,
)
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.model.state import LESSON, lesson_stream
from everloop.lessons.narrative_writer import write_narrative
from everloop.lessons.projections import queries
from everloop.lessons.projections.hosts import HostTrust, PhaseEntry, host_trusts, task_phases
from everloop.lessons.projections.queries import LessonPage, LessonView, recorded_rules
from everloop.lessons.projections.search import ScoredLesson, search_lessons
from everloop.lessons.settings import GateRules, LessonSettings, plain_rules, strictest_rules
from everloop.log import Command, CommandBus, Context, Fact, Log, Reader
from everloop.log.idempotency import execute_once, id_for_request
from everloop.log.model.record import from_microseconds
from everloop.memory.browse.queries import items_with_ids
from everloop.memory.model.decide import ENGINE, principal_of
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.projections.queries import find_item as find_item
from everloop.memory.projections.queries import load_viewer
from everloop.ports import Clock, Ids, Model


class ProposalResult(msgspec.Struct, frozen=True):
    """The outcome of a proposal.

    `updated`: the lesson existed before. `withheld`: the request asked to seed it as promoted, and
    its actor may not do that.
    """

    lesson_id: str
    status: Status
    updated: bool
    created_at: datetime
    withheld: bool
    position: int


class Promotion(msgspec.Struct, frozen=True):
    """The decision of the gate: every reason against it, or the memories that it `cited`."""

    lesson_id: str
    passed: bool
    status: Status
    before: Status
    reasons: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()


class GateRulesView(msgspec.Struct, frozen=True):
    """The rules of the gate in the settings and in the log, which may have none yet."""

    settings: GateRules
    log: GateRules | None

    @property
    def in_effect(self) -> GateRules:
        """The strictest of both."""
        return strictest_rules(self.settings, self.log)


class LessonService:
    """Commands and queries on lessons, over one log."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        clock: Clock,
        ids: Ids,
        settings: LessonSettings,
        model: Callable[[], Model] | None = None,
    ) -> None:
        self.log = log
        self.settings = settings
        self._bus = bus
        self._clock = clock
        self._ids = ids
        self._model = model

    # -- text --------------------------------------------------------------------------------------

    def propose(
        self, new: ProposeLesson, *, by: Context, request_id: str | None = None
    ) -> ProposalResult:
        """Propose a lesson. An empty `lesson_id` gets a new id; quotes are looked up in memory."""
        command = msgspec.structs.replace(
            new,
            lesson_id=new.lesson_id or self._lesson_id(new, by, request_id),
            evidence=self._locate(new.evidence, by),
        )
        receipt = execute_once(self._bus, command, LESSON_TRACES, by=by, request_id=request_id)
        self.record_rules()
        created = any(isinstance(fact.event, LessonProposed) for fact in receipt.facts)
        with self.log.reading() as reader:
            lesson = queries.find_lesson(reader, load_viewer(reader, OWNER), command.lesson_id)
        withheld = new.seed_as_promoted and lesson.status is not Status.PROMOTED
        return ProposalResult(
            lesson.lesson_id,
            lesson.status,
            not created,
            lesson.created_at,
            withheld,
            lesson.position,
        )

    def scope_of_evidence(self, evidence: tuple[Evidence, ...], *, by: Context) -> str:
        """The scope that the cited memories share, as far as the actor sees them; else `user`."""
        named = {each.item_id for each in evidence if isinstance(each, MemoryEvidence)}
        with self.log.reading() as reader:
            found = items_with_ids(reader, _asker(reader, by.actor), sorted(named)) if named else []
        scopes = {item.scope for item in found}
        narrow = scopes - {GLOBAL_SCOPE} or scopes
        return narrow.pop() if len(narrow) == 1 else "user"

    def edit(self, change: EditLesson, *, by: Context, request_id: str | None = None) -> LessonView:
        """Edit its text; a promoted lesson becomes active again."""
        return self._act(change, change.lesson_id, by, request_id)

    def narrate(
        self,
        lesson_id: str,
        *,
        by: Context,
        narrative: Narrative | None = None,
        request_id: str | None = None,
    ) -> LessonView | Declined:
        """Record why it holds; without a narrative, a model writes one, and may decline.

        Raises:
            ModelFailed: the model gave no usable answer.
        """
        lesson = self.find(by.actor, lesson_id)
        name = ""
        if narrative is None:
            model = self._require_model()
            written = write_narrative(model, lesson, self._excerpts(lesson, by), self.settings)
            name = model.name
            if isinstance(written, Declined):
                self._bus.do(RefuseNarrative(lesson_id, written.reason, name), by=by)
                return written
            narrative = written
        located = self._locate(narrative.evidence, by)
        checked = msgspec.structs.replace(narrative, evidence=located)
        return self._act(NarrateLesson(lesson_id, checked, name), lesson_id, by, request_id)

    # -- status ------------------------------------------------------------------------------------

    def activate(
        self, lesson_id: str, *, by: Context, text_digest: str = "", request_id: str | None = None
    ) -> LessonView:
        """Activate it, which only the user may do; `text_digest` pins the text that they saw.

        Raises:
            Conflict: its text has changed since.
        """
        command = ActivateLesson(lesson_id, text_digest)
        return self._act(command, lesson_id, by, request_id)

    def discard(
        self, command: DiscardLesson, *, by: Context, request_id: str | None = None
    ) -> LessonView:
        """Discard it.

        Raises:
            Forbidden: a user wrote it, and the user did not force it.
        """
        return self._act(command, command.lesson_id, by, request_id)

    def supersede(
        self, command: SupersedeLesson, *, by: Context, request_id: str | None = None
    ) -> LessonView:
        """Replace it by another lesson.

        Raises:
            Forbidden: a user wrote it, and the user did not force it.
            Conflict: the other lesson cannot replace it.
        """
        return self._act(command, command.lesson_id, by, request_id)

    def promote(self, lesson_id: str, *, by: Context, request_id: str | None = None) -> Promotion:
        """Ask the gate to promote a lesson; the answer is the decision as it was recorded.

        The gate decides from facts, inside the transaction. A refusal is recorded as well.
        """
        self.find(by.actor, lesson_id)
        self.record_rules()
        command = PromoteLesson(lesson_id)
        receipt = execute_once(self._bus, command, LESSON_TRACES, by=by, request_id=request_id)
        for fact in receipt.facts:
            match fact.event:
                case LessonPromoted(cited=cited):
                    before = self._status_before(fact)
                    return Promotion(lesson_id, True, Status.PROMOTED, before, cited=cited)
                case PromotionRefused(reasons=reasons):
                    before = self._status_before(fact)
                    return Promotion(lesson_id, False, before, before, reasons=reasons)
                case _:
                    continue
        decision = self._standing_decision(lesson_id)
        return decision or self.promote(lesson_id, by=by, request_id=request_id)

    # -- signals -----------------------------------------------------------------------------------

    def use(self, command: UseLesson, *, by: Context, request_id: str | None = None) -> LessonView:
        """Record that an agent acted on it."""
        return self._act(command, command.lesson_id, by, request_id)

    def feedback(
        self, command: GiveFeedback, *, by: Context, request_id: str | None = None
    ) -> LessonView:
        """Record praise or blame. An empty `signal_id` gets a new id."""
        signal = command.signal_id or id_for_request(self._ids, "sig", request_id)
        named = msgspec.structs.replace(command, signal_id=signal)
        return self._act(named, command.lesson_id, by, request_id)

    def withdraw(
        self, command: WithdrawFeedback, *, by: Context, request_id: str | None = None
    ) -> LessonView:
        """Withdraw a signal, which only the user may do, in person."""
        return self._act(command, command.lesson_id, by, request_id)

    def verdict(
        self, command: RecordVerdict, *, by: Context, request_id: str | None = None
    ) -> LessonView:
        """Record a runner's verdict. An empty `text_digest` means the current text."""
        digest = command.text_digest or self.find(by.actor, command.lesson_id).digest
        bound = msgspec.structs.replace(command, text_digest=digest)
        return self._act(bound, command.lesson_id, by, request_id)

    # -- queries -----------------------------------------------------------------------------------

    def find(self, principal: str, lesson_id: str) -> LessonView:
        """One lesson, if the principal may see it."""
        with self.log.reading() as reader:
            return queries.find_lesson(reader, _asker(reader, principal), lesson_id)

    def page(
        self, principal: str, statuses: Sequence[str] = (), *, limit: int = 50, offset: int = 0
    ) -> LessonPage:
        """A page of lessons, sorted by status, then by id; by default without discarded ones."""
        with self.log.reading() as reader:
            who = _asker(reader, principal)
            return queries.lesson_page(reader, who, statuses, limit=limit, offset=offset)

    def recall(self, principal: str, query: str, *, limit: int = 5) -> list[ScoredLesson]:
        """The lessons that match a query best."""
        with self.log.reading() as reader:
            return search_lessons(reader, _asker(reader, principal), query, limit=limit)

    def gate_result(self, principal: str, lesson_id: str) -> GateResult:
        """The result of every gate check for one lesson."""
        with self.log.reading() as reader:
            lesson = queries.find_lesson(reader, _asker(reader, principal), lesson_id)
            return self.gate_results(reader, [lesson])[0]

    def gate_results(self, reader: Reader, lessons: Sequence[LessonView]) -> list[GateResult]:
        """The result of every gate check for these lessons, in this order."""
        return gate_results(reader, lessons, self.settings, self._clock.now())

    def stale_lessons(self, principal: str, *, kept: Collection[str] = ()) -> list[StaleLesson]:
        """Active lessons with too little feedback, to ask the user about; oldest first.

        Those in `kept` are left out.
        """
        with self.log.reading() as reader:
            who = _asker(reader, principal)
            return stale_lessons(reader, who, self.settings, self._clock.now(), kept=kept)

    def gate_rules(self) -> GateRulesView:
        """The rules of the gate: in the settings, in the log, and in effect."""
        with self.log.reading() as reader:
            return GateRulesView(plain_rules(self.settings), recorded_rules(reader))

    def adopt_rules(self, *, by: Context) -> bool:
        """Take the settings' rules into the log, which only the user may; True if they changed."""
        return bool(self._bus.do(SetGateRules(plain_rules(self.settings)), by=by).facts)

    def record_rules(self) -> None:
        """Record the settings' rules in the log, if it has none."""
        if self.gate_rules().log is None:
            self.adopt_rules(by=Context(actor=ENGINE))

    # -- hosts and tasks ---------------------------------------------------------------------------

    def hosts(self) -> list[HostTrust]:
        """Every host that the user has trusted or distrusted."""
        with self.log.reading() as reader:
            return host_trusts(reader)

    def trust(self, host: str, *, by: Context) -> bool:
        """Trust a host to relay the user's words; True if it was not trusted before."""
        return bool(self._bus.do(TrustHost(host), by=by).facts)

    def distrust(self, host: str, *, by: Context) -> bool:
        """Revoke that trust, with everything that depended on it; True if it was trusted."""
        return bool(self._bus.do(DistrustHost(host), by=by).facts)

    def hear(self, host: str, text: str, *, by: Context, short_words: int) -> bool:
        """Record what the user said to a trusted host, if it may be feedback; True if recorded."""
        if not may_contain_feedback(text, short_words=short_words):
            return False
        return bool(self._bus.do(HearWords(host, by.session, text), by=by).facts)

    def log_phase(self, command: LogPhase, *, by: Context) -> bool:
        """Record that a host reached a phase of its task; True if that is new."""
        return bool(self._bus.do(command, by=by).facts)

    def task_phases(self, task_id: str, actor: str = "") -> list[PhaseEntry]:
        """The phases that a task has reached; with an actor, those that it logged itself."""
        with self.log.reading() as reader:
            return task_phases(reader, task_id, actor)

    # -- helpers -----------------------------------------------------------------------------------

    def _act(
        self, command: Command, lesson_id: str, by: Context, request_id: str | None
    ) -> LessonView:
        self.find(by.actor, lesson_id)
        execute_once(self._bus, command, LESSON_TRACES, by=by, request_id=request_id)
        return self.find(by.actor, lesson_id)

    def _status_before(self, fact: Fact) -> Status:
        """The status of a lesson just before a fact about it."""
        lesson_id = fact.stream.removeprefix(lesson_stream(""))
        with self.log.reading(as_of=fact.position - 1) as reader:
            return queries.find_lesson(reader, load_viewer(reader, OWNER), lesson_id).status

    def _standing_decision(self, lesson_id: str) -> Promotion | None:
        """The recorded decision that still applies when a request to promote appended nothing.

        None if another append changed the lesson since, so that it has to be decided again.
        """
        lesson = self.log.state(LESSON, lesson_stream(lesson_id))
        if lesson is not None and lesson.status is Status.PROMOTED:
            facts = self.log.read(lesson_stream(lesson_id))
            cited = [fact.event.cited for fact in facts if isinstance(fact.event, LessonPromoted)]
            status = lesson.status
            return Promotion(lesson_id, True, status, status, cited=cited[-1] if cited else ())
        if lesson is None or not lesson.refused:
            return None
        written_at = from_microseconds(self.log.record(lesson.words_at).recorded_us)
        age, rules = self._clock.now() - written_at, self.gate_rules().in_effect
        reasons = with_current_age(lesson.refused, age, rules)
        return Promotion(lesson_id, False, lesson.status, lesson.status, reasons=reasons)

    def _lesson_id(self, new: ProposeLesson, by: Context, request_id: str | None) -> str:
        """A new id; the same request, pack entry or source entry always gets the same one."""
        parts: tuple[str, ...] = ()
        if new.author == "pack" and new.external_id:
            parts = ("pack", new.pack_id, new.external_id)
        elif new.source is not None:
            parts = (new.source.kind, new.source.digest, new.description, new.body)
        if not parts:
            return id_for_request(self._ids, "les", request_id)
        return content_lesson_id(self.log, by.actor, parts, plain=_plain_id(*parts))

    def _locate(self, evidence: tuple[Evidence, ...], by: Context) -> tuple[Evidence, ...]:
        if not evidence:
            return ()
        with self.log.reading() as reader:
            return locate_quotes(reader, _asker(reader, by.actor), evidence)

    def _excerpts(self, lesson: LessonView, by: Context) -> list[str]:
        """The texts of the memories that a lesson cites, if the actor may see them."""
        named = [each.item_id for each in lesson.evidence if isinstance(each, MemoryEvidence)]
        found: list[str] = []
        with self.log.reading() as reader:
            who = _asker(reader, by.actor)
            for item_id in named:
                try:
                    found.append(find_item(reader, who, item_id).text)
                except NotFound:
                    continue
        return found

    def _require_model(self) -> Model:
        model = None if self._model is None else self._model()
        if model is None or model.name == BUILT_IN_MODEL:
            raise Unavailable(
                "no model is set up to write a narrative", hint="Write it by hand, or add a model."
            )
        return model


def _asker(reader: Reader, principal: str) -> Viewer:
    return load_viewer(reader, principal_of(principal))


def _plain_id(*parts: str) -> str:
    """The id without a key that earlier versions gave."""
    return f"les-{hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:24]}"
