"""Background services of a running process: turns, memory, summaries, feedback, embedding, imports.

Every interface that lives longer than a command starts them together, and stops them at its end.
"""

import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Self

from everloop.adapters.live_relay import LiveAnswerRelay
from everloop.adapters.mcp_client import ToolServers
from everloop.adapters.models.discovery import DiscoveredModel, choose_model, discover_models
from everloop.adapters.models.fallback import FallbackModel
from everloop.app import USER, Engine
from everloop.background.followers import FollowerTask
from everloop.background.health import SUFFIX as HEALTH
from everloop.background.supervisor import Service, Supervisor
from everloop.errors import ModelFailed
from everloop.import_jobs import ImportJobs
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.projections.order import LessonOrder
from everloop.lessons.projections.queries import load_lessons
from everloop.log import Context
from everloop.memory.background import EmbeddingTask
from everloop.memory.context import PromptPiece
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import load_viewer
from everloop.ports import Model, Usage
from everloop.settings import Settings
from everloop.thread.background import (
    ExpiryTask,
    RememberMessagesTask,
    StaleSummariesTask,
    SummariesTask,
)
from everloop.thread.feedback import FeedbackTask
from everloop.thread.model.commands import StopTurn
from everloop.thread.prompt.builder import PromptBuilder
from everloop.thread.pyramid.summarise import SummaryPyramid, model_summariser
from everloop.thread.quoting import collapse_whitespace, quote
from everloop.thread.service import ThreadService
from everloop.thread.tools import MODEL_CONTEXT, ThreadTools
from everloop.thread.turns import ThreadTurns
from everloop.turns.scheduler import TurnScheduler

LESSONS_SHOWN = 12
LIVE = ".live"  # the folder beside the log of the answers that come just now


class Services:
    """An engine at work. Close it, or use it in a `with`."""

    def __init__(self, engine: Engine, settings: Settings, model: Model | None = None) -> None:
        self.engine = engine
        self.settings = settings
        self.talk = ThreadService(engine.log, engine, engine.memory)
        self.files = engine.files
        self._models = _Models(settings, model)
        self._order = LessonOrder()
        self.tool_servers = ToolServers(settings.tools)
        self.tools = ThreadTools(
            engine.log,
            engine,
            engine.memory,
            engine.world.clock,
            propose=self._propose,
            more=self.tool_servers,
        )
        self.thread_turns = ThreadTurns(
            engine.log, engine, engine.log.ids, self.preparing, self.tools, engine.usage
        )
        self.turns = TurnScheduler(
            engine.log,
            self.thread_turns,
            self.narrative,
            engine.world.clock,
            settings.thread.answer,
            took_over=lambda: self.relay.clear(),
        )
        self.relay = LiveAnswerRelay(
            engine.log.file.path.with_suffix(LIVE), self.turns.live, self.turns.leads
        )
        summarise = model_summariser(self.classifier, self._spent_on_summaries)
        self.pyramid = SummaryPyramid(
            engine.log, engine, engine.log.ids, summarise, settings.thread.detail
        )
        self.remembering = RememberMessagesTask(engine.log, engine)
        self.imports = ImportJobs(engine, lambda: self.settings.thread.imports)
        self.supervisor = Supervisor(self._services(), engine.log.file.path.with_suffix(HEALTH))
        self.embedding: EmbeddingTask | None = None

    def start(self) -> None:
        """Start every service. Each begins with what is missing."""
        self.talk.home_thread(Context(actor=OWNER))
        self.tool_servers.start()
        self.relay.start()
        self.supervisor.start()
        self.embedding = EmbeddingTask(self.engine.memory)
        self.supervisor.add(self.embedding)
        threading.Thread(target=self._models.prepare, name="everloop-model", daemon=True).start()

    def close(self) -> None:
        """Stop every service after its current step."""
        self.supervisor.stop()
        self.relay.stop()
        self.tool_servers.close()

    def _services(self) -> list[Service]:
        """What is supervised, in the order of starting; answers are stopped first."""
        engine, settings = self.engine, self.settings
        log, clock = engine.log, engine.world.clock
        return [
            FollowerTask(log, engine.followers),
            self.remembering,
            SummariesTask(log, self.pyramid, clock),
            FeedbackTask(log, lambda: engine.listener(self.classifier())),
            StaleSummariesTask(log, engine, engine.memory),
            ExpiryTask(log, engine, clock, settings.memory.quiet_days),
            self.imports,
            self.turns,
        ]

    def stop_turn(
        self, thread_id: str, turn_id: str, *, by: Context = USER, branch: str | None = None
    ) -> None:
        """End a turn of a thread now; the text so far is kept."""

        def record(text: str) -> None:
            self.engine.do(StopTurn(thread_id, turn_id, text), by=by, branch=branch)

        self.turns.stop_turn(turn_id, record)

    def narrative(self) -> Model:
        """The model that talks."""
        return self._models.narrative

    def classifier(self) -> Model:
        """The model that sorts and sums up."""
        return self._models.classifier

    @property
    def found(self) -> list[DiscoveredModel]:
        """The models that were found on this machine."""
        return self._models.found

    def choose(self, settings: Settings) -> None:
        """Go on with other models and limits; what is being answered is finished by the old."""
        self.settings = settings
        self._models = _Models(settings, None)
        self.turns.set_limits(settings.thread.answer)

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    @cached_property
    def preparing(self) -> PromptBuilder:
        """What puts the prompt of a turn together."""
        return PromptBuilder(
            self.engine.log,
            self.engine.memory,
            self.engine.world.clock,
            limits=self.settings.thread.context,
            teach=self._lessons,
            fetch=self.files.read,
        )

    def _lessons(self) -> Iterable[PromptPiece]:
        """The lessons that stand: promoted ones first, then those on trial; last used first."""
        with self.engine.reading() as reader:
            sight, who = self.engine.log.sight(reader), load_viewer(reader, OWNER)
            found: list[int] = []
            for status in ("promoted", "active"):
                left = LESSONS_SHOWN - len(found)
                found += self._order.first(reader, sight, who, (status,), left)[0]
            lessons = load_lessons(reader, found)
        for rank, lesson in enumerate(lessons):
            trial = "" if lesson.status == "promoted" else " (on trial)"
            text = f"- {collapse_whitespace(lesson.description)}{trial}: {quote(lesson.body[:400])}"
            yield PromptPiece(lesson.lesson_id, text, (lesson.position,), priority=-rank)

    def _spent_on_summaries(self, usage: Usage) -> None:
        self.engine.usage.record("summary", usage)

    def _propose(self, description: str, body: str, because: int) -> str:
        """A lesson that the model of the thread proposes."""
        lesson_id = self.engine.log.ids.new("les")
        new = ProposeLesson(lesson_id, description, body, because=(because,))
        self.engine.lessons.propose(new, by=MODEL_CONTEXT)
        return lesson_id


class _Models:
    """The models in use, found when first needed."""

    def __init__(self, settings: Settings, given: Model | None) -> None:
        self._settings = settings
        self._given = given

    def prepare(self) -> None:
        """Load what the first answer needs, so that it does not wait for it."""
        model = self.narrative
        if isinstance(model, FallbackModel):
            with suppress(ModelFailed):  # whoever asks it will be told
                model.preload()

    @cached_property
    def found(self) -> list[DiscoveredModel]:
        return [] if self._given else discover_models(self._settings.models)

    @cached_property
    def narrative(self) -> Model:
        return self._given or choose_model(self._settings.models, "narrative", self.found)

    @cached_property
    def classifier(self) -> Model:
        return self._given or choose_model(self._settings.models, "classifier", self.found)
