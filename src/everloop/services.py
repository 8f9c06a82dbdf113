"""Background services of a running process: turns, memory, summaries, feedback, embedding, imports.

Every interface that lives longer than a command starts them together, and stops them at its end.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from everloop.access import load_access
from everloop.access.model_services import allowed_model_services
from everloop.adapters.documents.reader import DocumentReader
from everloop.adapters.github.client import GitHubClient
from everloop.adapters.github.push_branch import GitPublisher
from everloop.adapters.github.rest import RestGitHub
from everloop.adapters.github.secrets import read_secret
from everloop.adapters.kubernetes.runner import KubernetesRunner, PodWorkspaces
from everloop.adapters.mcp_client import ToolServers
from everloop.adapters.models.discovery import (
    DiscoveredModel,
    choose_model,
    choose_named_model,
    discover_models,
    with_consent,
)
from everloop.adapters.models.fallback import FallbackModel
from everloop.adapters.models.offline import OFFLINE_MODEL
from everloop.adapters.node_relay import AnswerRelay
from everloop.adapters.notifications.web_push import WebPush
from everloop.adapters.notifications.webhook_and_mail import HttpWebhook, SmtpMailer
from everloop.adapters.process_relay import LiveAnswerRelay
from everloop.adapters.processes.supervisor import SupervisedProcesses
from everloop.adapters.processes.task_folders import LocalTaskFolders
from everloop.adapters.runners.acp import AcpRunner
from everloop.adapters.runners.claude import ClaudeRunner
from everloop.adapters.runners.command import CommandRunner
from everloop.adapters.twilio_calls import TwilioTelephone
from everloop.adapters.warehouse.background_copy import WarehouseCopyTask, connect_bigquery
from everloop.app import USER, WORKERS_FOLDER, Engine
from everloop.background.followers import FollowerTask
from everloop.background.health import SUFFIX as HEALTH
from everloop.background.supervisor import Service, Supervisor
from everloop.errors import ModelFailed
from everloop.import_jobs import ImportJobs, WorldImportJobs
from everloop.inbox import RequestExpiryTask
from everloop.lessons.model.commands import ProposeLesson
from everloop.lessons.projections.order import LessonOrder
from everloop.lessons.projections.queries import load_lessons
from everloop.log import Context
from everloop.memory.background import EmbeddingTask
from everloop.memory.context import PromptPiece
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import load_viewer
from everloop.notifications import NotificationService, NotificationSettings, NotificationTask
from everloop.ports import Model, Usage
from everloop.reactions.stale_lessons import StaleLessonsTask
from everloop.settings import Settings
from everloop.stores import path_next_to
from everloop.thread.background import (
    ExpiryTask,
    RememberMessagesTask,
    StaleSummariesTask,
    SummariesTask,
)
from everloop.thread.feedback import FeedbackTask
from everloop.thread.message_significance import RateMessagesTask
from everloop.thread.model.commands import StopTurn, TruncateAnswer
from everloop.thread.prompt.builder import PromptBuilder, PromptSources
from everloop.thread.prompt.window_limits import limits_within
from everloop.thread.pyramid.day_parts import DayParts
from everloop.thread.pyramid.summarise import SummaryPyramid, model_summariser
from everloop.thread.quoting import collapse_whitespace, quote
from everloop.thread.service import ThreadService
from everloop.thread.settings import ContextLimits
from everloop.thread.tools import MODEL_CONTEXT, ProposeTaskArguments, ThreadTools
from everloop.thread.turns import ThreadTurns
from everloop.turns.scheduler import TurnScheduler
from everloop.turns.sources import TurnSources
from everloop.turns.tools import TurnRef
from everloop.voice import CallTask, VoiceService, configuration_problems
from everloop.workers import (
    CLUSTER_RUNNER,
    KNOWN_AGENTS,
    GitHubSettings,
    GitHubTask,
    PushTask,
    Runner,
    ScheduleTask,
    TaskScheduler,
    TaskSpec,
    WorkerMachine,
    WorkerSettings,
    Workspace,
    check_command,
)
from everloop.worlds import (
    NARRATOR_MODEL,
    FailTurn,
    OpeningProposal,
    Readings,
    SceneEffects,
    ScriptedNarrator,
    TurnEffects,
    WorldEffectsTask,
    WorldTurns,
    list_characters,
    propose_opening,
)

LESSONS_SHOWN = 12
LIVE = ".live"  # the folder beside the log of the answers that come just now


class Services:
    """An engine at work. Close it, or use it in a `with`."""

    def __init__(
        self,
        engine: Engine,
        settings: Settings,
        model: Model | None = None,
        *,
        runners: Sequence[Runner] = (),
    ) -> None:
        """`runners` are added to the usual ones; one of the same name takes its place."""
        self._more_runners = tuple(runners)
        self.engine = engine
        self.settings = settings
        self.initial_settings = settings  # what was in force at the start
        self.talk = ThreadService(engine.log, engine, engine.memory)
        self.files = engine.files
        self._chosen = _Models(settings, model, {})
        self.documents = DocumentReader(engine.files, settings.thread.documents)
        self._order = LessonOrder()
        self.tool_servers = ToolServers(settings.tools)
        self.tools = ThreadTools(
            engine.log,
            engine,
            engine.memory,
            engine.ports.clock,
            propose=self._propose,
            propose_task=self._propose_task,
            more=self.tool_servers,
        )
        self.thread_turns = ThreadTurns(
            engine.log, engine, engine.log.ids, self.preparing, self.tools, engine.usage
        )
        self.readings = Readings(self._reading_model, settings.worlds)
        self.world_turns = WorldTurns(
            engine.log,
            engine,
            engine.log.ids,
            engine.worlds.prompts,
            engine.usage,
            lambda: "" if self.connected else NARRATOR_MODEL,
        )
        self.turns = TurnScheduler(
            engine.log,
            TurnSources((self.thread_turns, self.world_turns), ThreadTurns.claim),
            self.answering_model,
            engine.ports.clock,
            settings.thread.answer,
            took_over=lambda: self.relay.clear(),
        )
        self.relay = self._live_relay()
        summarise = model_summariser(self.classifier, self._spent_on_summaries)
        self.pyramid = SummaryPyramid(
            engine.log, engine, engine.log.ids, summarise, settings.thread.detail
        )
        self.day_parts = DayParts(
            engine.log, engine, engine.log.ids, summarise, settings.thread.detail.part
        )
        self.world_effects = self._world_effects()
        self.remembering = RememberMessagesTask(engine.log, engine)
        self.imports = ImportJobs(engine, lambda: self.settings.thread.imports)
        self.world_imports = WorldImportJobs(engine, settings.exchange)
        self.tasks = self._task_scheduler()
        self.notifications = make_notification_service(engine, settings.notifications)
        self.voice = make_voice_service(engine, settings)
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

    def _live_relay(self) -> LiveAnswerRelay | AnswerRelay:
        """What shows answers that another process writes: by the server, or by files."""
        log, live, leads = self.engine.log, self.turns.live, self.turns.leads
        if log.messages is not None:
            return AnswerRelay(log.messages, log.ids.new("nod"), live, leads)
        return LiveAnswerRelay(log.file.path.with_suffix(LIVE), live, leads)

    def _services(self) -> list[Service]:
        """What is supervised, in the order of starting; answers are stopped first."""
        engine, settings = self.engine, self.settings
        log, clock = engine.log, engine.ports.clock
        return [
            FollowerTask(log, engine.followers),
            self.remembering,
            self.world_effects,
            SummariesTask(log, self.pyramid, clock, excess=self._summarise_excess),
            FeedbackTask(log, lambda: engine.listener(self.classifier())),
            *self._rating(),
            StaleSummariesTask(log, engine, engine.memory),
            ExpiryTask(log, engine, clock, settings.memory.quiet_days),
            RequestExpiryTask(log, engine.inbox),
            StaleLessonsTask(log, engine, engine.lessons),
            *self._warehouse_copy(),
            self._notification_task(),
            *self._telephone(),
            self.imports,
            self.world_imports,
            self.tasks,
            *self._cluster_tasks(),
            ScheduleTask(log, engine, clock, settings.workers.schedule_grace_s),
            *self._github_tasks(),
            self.turns,
        ]

    def _warehouse_copy(self) -> list[Service]:
        """The copy of the log in BigQuery, if the settings name a dataset."""
        limits = self.settings.sink
        if not limits.bigquery:
            return []
        log = self.engine.log
        return [WarehouseCopyTask(log, lambda: connect_bigquery(log.file.path, limits), limits)]

    def _rating(self) -> list[Service]:
        """What rates the significance of what was said, unless the settings switch it off."""
        chosen, engine = self.settings.thread.significance, self.engine
        if chosen == "off":
            return []

        def rater() -> Model | None:
            metered = engine.usage.metered
            return metered(self.classifier(), "significance") if chosen == "model" else None

        return [RateMessagesTask(engine.log, engine, engine.ports.clock, rater)]

    def _reading_model(self) -> Model | None:
        """The model that reads turns of worlds; None if only the built-in one is at hand."""
        model = self.classifier()
        names = model.names if isinstance(model, FallbackModel) else (model.name,)
        if names == (OFFLINE_MODEL,):
            return None
        return self.engine.usage.metered(model, "world")

    def _world_effects(self) -> WorldEffectsTask:
        engine, settings = self.engine, self.settings.worlds
        parts = (engine.log, engine, self.readings, engine.worlds.memories, settings)
        return WorldEffectsTask(engine.log, TurnEffects(*parts), SceneEffects(*parts))

    def propose_opening(self, prose: str) -> OpeningProposal:
        """How a world could begin, as a text tells it."""
        with self.engine.reading() as reader:
            library = list_characters(reader)
        return propose_opening(prose, library, self.readings, self.engine.ports.clock.now())

    def _notification_task(self) -> NotificationTask:
        engine, settings = self.engine, self.settings.notifications
        mailer = SmtpMailer(settings) if settings.email_to else None
        return NotificationTask(
            engine.log, engine.inbox, self.notifications, engine.ports.clock, settings, mailer
        )

    def _telephone(self) -> list[Service]:
        """What calls the user, if the telephone is configured; `everloop doctor` says if not."""
        engine, settings = self.engine, self.settings
        if not self.has_telephone:
            return []
        clock = engine.ports.clock
        return [CallTask(engine.log, engine.inbox, self.voice, clock, settings.voice)]

    @property
    def has_telephone(self) -> bool:
        """Whether the configuration of the telephone is complete: the user can be called."""
        settings = self.settings
        return not configuration_problems(settings.voice, settings.serve.host_names)

    @property
    def runner_names(self) -> list[str]:
        """The runners that a task can choose."""
        cluster = [CLUSTER_RUNNER] if self.settings.workers.kubernetes.namespace else []
        return [*self.tasks.runner_names, *cluster]

    def _cluster_tasks(self) -> list[Service]:
        """The scheduler of Jobs, if the settings name a namespace and the extra is installed."""
        settings, engine = self.settings, self.engine
        if not settings.workers.kubernetes.namespace:
            return []
        try:
            from everloop.adapters.kubernetes.jobs import (  # noqa: PLC0415 - the `kubernetes` extra
                KubernetesJobs,
            )
        except ModuleNotFoundError:  # `everloop doctor` says so
            return []
        chosen = settings.workers.kubernetes
        workers = path_next_to(engine.log.file.path, WORKERS_FOLDER)
        folder = workers / CLUSTER_RUNNER
        machine = WorkerMachine(
            (KubernetesRunner(chosen),),
            KubernetesJobs(folder, chosen),
            PodWorkspaces(),
            LocalTaskFolders(workers, CLUSTER_RUNNER),
            _is_for_cluster,
            "workers in the cluster",
        )
        return [TaskScheduler(engine.log, engine, engine.ports.clock, machine, settings.workers)]

    def _github_tasks(self) -> list[Service]:
        """What talks to GitHub and pushes branches, if the settings name a repository."""
        engine, chosen = self.engine, with_real_paths(self.settings.github)
        if not chosen.repositories:
            return []

        def token() -> str:
            return read_secret(chosen.token_key, chosen.token_file, "github.token_file")

        clock, limits = engine.ports.clock, self.settings.workers.limits
        github = RestGitHub(GitHubClient(chosen.api_url, token, clock))
        publisher = GitPublisher(engine.workspaces, token, chosen.api_url)
        folder = path_next_to(engine.log.file.path, WORKERS_FOLDER)
        host = SupervisedProcesses(folder).host
        return [
            GitHubTask(engine.log, engine, clock, chosen, limits, github),
            PushTask(engine.log, engine, clock, chosen, publisher, host),
        ]

    def _task_scheduler(self) -> TaskScheduler:
        engine, settings = self.engine, self.settings
        cluster = bool(settings.workers.kubernetes.namespace)
        folder = path_next_to(engine.log.file.path, WORKERS_FOLDER)

        def serves_here(runner: str) -> bool:
            return not (cluster and runner == CLUSTER_RUNNER)

        return TaskScheduler(
            engine.log,
            engine,
            engine.ports.clock,
            WorkerMachine(
                (*_runners(settings.workers), *self._more_runners),
                SupervisedProcesses(folder),
                engine.workspaces,
                engine.task_folders,
                serves=serves_here,
            ),
            settings.workers,
            approval_lives_s=settings.inbox.approval_lives_s,
        )

    def stop_turn(
        self, thread_id: str, turn_id: str, *, by: Context = USER, branch: str | None = None
    ) -> None:
        """End a turn of a thread now; the text so far is kept."""

        def record(text: str) -> None:
            self.engine.do(StopTurn(thread_id, turn_id, text), by=by, branch=branch)

        self.turns.stop_turn(turn_id, record)

    def truncate_answer(self, thread_id: str, turn_id: str, heard: str, *, by: Context) -> None:
        """Keep only what a person heard of an answer that they interrupted.

        The scheduler stops a turn that still runs when it sees the fact.
        """
        self.engine.do(TruncateAnswer(thread_id, turn_id, heard), by=by)

    def stop_world_turn(self, world_id: str, turn_id: str, *, by: Context = USER) -> None:
        """End a turn of a world now; the text so far is kept."""

        def record(text: str) -> None:
            del text  # the process that runs it records it, when it learns of the stop
            stopped = FailTurn(world_id, turn_id, "it was stopped")
            self.engine.do(stopped, by=by)

        self.turns.stop_turn(turn_id, record)

    @property
    def connected(self) -> bool:
        """Whether a language model talks, and not only the built-in one."""
        model = self.narrative()
        names = model.names if isinstance(model, FallbackModel) else (model.name,)
        return names != (OFFLINE_MODEL,)

    def narrative(self) -> Model:
        """The model that talks."""
        return self._models.narrative

    def answering_model(self, name: str = "") -> Model:
        """The model with this name, or the one that talks by default.

        Raises:
            Forbidden: it is not connected, or was not allowed yet.
            Invalid: there is no such model.
        """
        if name == NARRATOR_MODEL:
            return ScriptedNarrator()
        return self._models.named(name) if name else self._models.narrative

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
        self._chosen = _Models(settings, None, {})
        self.turns.set_limits(settings.thread.answer)

    @property
    def _models(self) -> "_Models":
        """The models in use, chosen again once the user allowed a service or withdrew one."""
        allowed = allowed_model_services(self.engine.log)
        if self._chosen.allowed != allowed:
            self._chosen = _Models(self._chosen.settings, self._chosen.given, allowed)
        return self._chosen

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
            self.engine.ports.clock,
            limits=self._context_limits,
            sources=PromptSources(lessons=self._lessons, files=self.documents),
        )

    def _summarise_excess(self, thread_id: str, today: date) -> None:
        dialogue = self._context_limits().dialogue
        self.day_parts.summarise_excess(thread_id, today, dialogue)

    def _context_limits(self) -> ContextLimits:
        """The limits of a prompt for the model that talks now."""
        model, thread = self.narrative(), self.settings.thread
        window = model.context_window() if isinstance(model, FallbackModel) else 0
        return limits_within(thread.context, window, thread.answer.tokens_max)

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

    def _propose_task(self, asked: ProposeTaskArguments, turn: TurnRef) -> str:
        """A task that the model of the thread proposes; the user starts it, or not."""
        workers, place = self.engine.workers, Workspace()
        if asked.repository:
            place = Workspace("worktree", workers.known_folder(asked.repository))
        spec = TaskSpec(
            " ".join(asked.title.split()),
            asked.brief,
            "claude",
            check=check_command(asked.check),
            plan_first=asked.plan_first,
            workspace=place,
            limits=self.settings.workers.limits,
            thread_id=turn.stream_id,
        )
        because = (turn.because,)
        return workers.propose(spec, MODEL_CONTEXT, because=because).task.task_id


def with_real_paths(settings: GitHubSettings) -> GitHubSettings:
    """The settings with whole paths of clones, by which start rules know them."""
    whole = {
        name: msgspec.structs.replace(one, path=str(Path(one.path).expanduser().resolve()))
        for name, one in settings.repositories.items()
    }
    return msgspec.structs.replace(settings, repositories=whole)


def _is_for_cluster(runner: str) -> bool:
    return runner == CLUSTER_RUNNER


def make_notification_service(
    engine: Engine, settings: NotificationSettings
) -> NotificationService:
    """The service that sends push messages to devices that are still signed in."""
    push = WebPush(engine.log.file.path.parent, settings.contact)
    webhook = HttpWebhook(settings.webhook_url) if settings.webhook_url else None

    def is_known(device_id: str) -> bool:
        return device_id in load_access(engine.log).devices

    return NotificationService(engine.log, engine, settings, push, webhook, is_known=is_known)


def make_voice_service(engine: Engine, settings: Settings) -> VoiceService:
    """The service that takes and places calls, as the settings say."""
    telephone = TwilioTelephone(settings.voice)
    return VoiceService(engine.log, engine, engine.ports, settings.voice, telephone)


def _runners(settings: WorkerSettings) -> tuple[Runner, ...]:
    agents = {**KNOWN_AGENTS, **settings.agents}
    others = (AcpRunner(name, one) for name, one in agents.items())
    return (
        CommandRunner(),
        ClaudeRunner(settings.claude_model, hosts=settings.claude_hosts),
        *others,
    )


class _Models:
    """The models in use, found when first needed."""

    def __init__(self, settings: Settings, given: Model | None, allowed: Mapping[str, str]) -> None:
        self.settings, self.given, self.allowed = settings, given, allowed

    def prepare(self) -> None:
        """Load what the first answer needs, so that it does not wait for it."""
        model = self.narrative
        if isinstance(model, FallbackModel):
            with suppress(ModelFailed):  # whoever asks it will be told
                model.preload()

    @cached_property
    def found(self) -> list[DiscoveredModel]:
        if self.given:
            return []
        return with_consent(discover_models(self.settings.models), self.allowed)

    def named(self, name: str) -> Model:
        if self.given and name == self.given.name:
            return self.given
        return choose_named_model(name, self.settings.models, self.found)

    @cached_property
    def narrative(self) -> Model:
        return self.given or choose_model(self.settings.models, "narrative", self.found)

    @cached_property
    def classifier(self) -> Model:
        return self.given or choose_model(self.settings.models, "classifier", self.found)
