"""The composition root: an engine is a log with the views and deciders of every domain.

Every door is built on four calls: `do` a command, `ask` a query, `follow` the facts, `close`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from threading import Event as Signal
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from everloop.access.domain import ACCESS
from everloop.access.model_services import allowed_model_services
from everloop.adapters.files.store import FileStore
from everloop.adapters.github.secrets import read_secret
from everloop.adapters.processes.task_folders import LocalTaskFolders
from everloop.adapters.runners.sandbox import sandbox_problem
from everloop.adapters.runners.worktrees import TaskWorkspaces
from everloop.adapters.system import system_ports
from everloop.background.followers import Followers, Reaction, reaction_id
from everloop.background.jobs import erase_uploads
from everloop.domain import Deciders, Domain, Policy
from everloop.errors import Invalid, Rejected, Unavailable
from everloop.inbox import INBOX, InboxService
from everloop.lessons.crew.service import CrewService
from everloop.lessons.domain import LESSONS
from everloop.lessons.feedback.listener import FeedbackDetector
from everloop.lessons.manifest.builder import ManifestBuilder
from everloop.lessons.service import LessonService
from everloop.log import (
    Command,
    Context,
    Decider,
    Fact,
    Log,
    Projection,
    Query,
    Reader,
    Receipt,
)
from everloop.log.history.impact_preview import purge_closure
from everloop.log.write.append import AppendRequest
from everloop.memory.background import EmbeddingTask
from everloop.memory.domain import MEMORY
from everloop.memory.service import MemoryService
from everloop.memory.settings import MemorySettings
from everloop.notifications import NOTIFICATIONS
from everloop.ports import Model, SystemPorts
from everloop.reactions.lesson_requests import LESSON_REQUESTS
from everloop.reactions.stale_lessons import STALE_LESSONS
from everloop.reactions.task_lessons import TASK_LESSONS
from everloop.reactions.task_reports import TASK_REPORTS
from everloop.reactions.task_routing import MESSAGE_ROUTING
from everloop.settings import Settings
from everloop.stores import VECTORS_FILE_NAME, open_replica, open_store, path_next_to
from everloop.thread.domain import THREAD
from everloop.thread.queries.files import (
    BRINGING,
    FILES_FOLDER,
    all_attachment_digests,
    attachment_digests,
    attachment_digests_at,
)
from everloop.usage.domain import USAGE
from everloop.usage.recorder import UsageRecorder
from everloop.voice import VOICE
from everloop.workers import (
    AUTOMATION,
    GITHUB,
    TASK_ROUTING,
    WORKERS,
    AutomationService,
    GitHubService,
    WorkerService,
)
from everloop.worlds.character_files import (
    PICTURED,
    all_character_files,
    character_files,
    character_files_at,
)
from everloop.worlds.domain import WORLDS

if TYPE_CHECKING:
    from everloop.memory.index.vector_index import VectorIndex
    from everloop.worlds.exchange.service import ExchangeService
    from everloop.worlds.service import WorldService

T = TypeVar("T")

USER = Context()
ENGINE = Context(actor="engine")
WORKERS_FOLDER = "workers"  # beside the log: processes and workspaces of tasks

DOMAINS = (
    MEMORY,
    LESSONS,
    THREAD,
    ACCESS,
    USAGE,
    INBOX,
    NOTIFICATIONS,
    WORKERS,
    AUTOMATION,
    GITHUB,
    TASK_REPORTS,
    TASK_LESSONS,
    TASK_ROUTING,
    MESSAGE_ROUTING,
    LESSON_REQUESTS,
    STALE_LESSONS,
    WORLDS,
    VOICE,
)
DECIDERS: Deciders = tuple(decider for domain in DOMAINS for decider in domain.deciders)
PROJECTIONS: tuple[type[Projection], ...] = tuple(
    projection for domain in DOMAINS for projection in domain.projections
)


class Engine:
    """An open engine. Safe from several threads; close it, or use it in a `with`."""

    def __init__(
        self,
        log: Log,
        ports: SystemPorts,
        settings: Settings,
        deciders: tuple[Decider[Any, Any], ...] = DECIDERS,
    ) -> None:
        self.log = log
        self._ports = ports
        self._settings = settings
        rules = [rule for one in DOMAINS for rule in one.configured(_section(settings, one))]
        self._deciders = {decider.command: decider for decider in (*deciders, *rules)}
        self.followers = Followers(log, self._reactions())
        self._caught_up = False
        log.maintenance.on_remote_purge(self._drop_files)

    @cached_property
    def usage(self) -> UsageRecorder:
        """The recorder of what calls of models cost."""
        return UsageRecorder(self, self._ports.clock)

    @cached_property
    def inbox(self) -> InboxService:
        """What waits for a person."""
        return InboxService(self.log, self, self._ports.clock, self._settings.inbox)

    @cached_property
    def workspaces(self) -> TaskWorkspaces:
        """Where tasks work: worktrees and folders beside the log."""
        folder = path_next_to(self.log.file.path, WORKERS_FOLDER)
        workers = self._settings.workers
        return TaskWorkspaces(folder, workers.protected_paths, workers.check_files_max)

    @cached_property
    def task_folders(self) -> LocalTaskFolders:
        """The folders of tasks beside the log: their size, and removing what is not needed."""
        return LocalTaskFolders(path_next_to(self.log.file.path, WORKERS_FOLDER))

    @cached_property
    def workers(self) -> WorkerService:
        """Tasks of commands and agents."""
        return WorkerService(
            self.log,
            self,
            self._settings.workers,
            self.workspaces,
            self.task_folders,
            is_sandboxed=lambda: not sandbox_problem(),
        )

    @cached_property
    def automation(self) -> AutomationService:
        """Schedules, watches and start rules."""
        return AutomationService(self.log, self, self._ports.clock)

    @cached_property
    def github(self) -> GitHubService:
        """Issues and pull requests of GitHub that are tasks."""
        chosen = self._settings.github

        def webhook_secret() -> str:
            return read_secret(chosen.webhook_key, chosen.webhook_file, "github.webhook_file")

        return GitHubService(self.log, self, chosen, webhook_secret)

    @cached_property
    def worlds(self) -> "WorldService":
        """Stories that are played here, and the library of their characters."""
        from everloop.worlds.service import WorldService  # noqa: PLC0415 - few commands need it

        return WorldService(self.log, self, lambda: self.memory, self._settings.worlds)

    @cached_property
    def exchange(self) -> "ExchangeService":
        """Import and export of characters, lorebooks, chats and worlds."""
        from everloop.worlds.exchange import (  # noqa: PLC0415 - few commands need it
            card_import,
            service,
        )

        ports = card_import.ExchangePorts(self.log, self, self.files, self._ports.clock)
        return service.ExchangeService(ports, self._settings.exchange)

    @cached_property
    def memory(self) -> MemoryService:
        """What is remembered here. The embedder is loaded when meaning is first searched."""
        space = _open_space(
            path_next_to(self.log.file.path, VECTORS_FILE_NAME), self._settings.memory
        )
        return MemoryService(
            self.log,
            self,
            self._ports.clock,
            self._ports.ids,
            space,
            limits=self._settings.memory,
        )

    @cached_property
    def files(self) -> FileStore:
        """The files beside the messages of this log."""
        limit = self._settings.thread.attachment_bytes_max
        folder = path_next_to(self.log.file.path, FILES_FOLDER)
        return FileStore(folder, bytes_max=limit, depot=self.log.blobs)

    def files_wanted(self) -> set[str]:
        """The digests of the files that some message or character has, on any branch."""
        with self.log.file.reading() as reader:
            return all_attachment_digests(reader) | all_character_files(reader)

    @property
    def ports(self) -> SystemPorts:
        """The ports to the system: clock, ids, randomness, waiting."""
        return self._ports

    @cached_property
    def lessons(self) -> LessonService:
        """What agents proposed, and how it stands."""
        ports, settings = self._ports, self._settings
        return LessonService(
            self.log,
            self,
            ports.clock,
            ports.ids,
            settings.lessons,
            lambda: self.usage.metered(_narrative_model(settings, self.log), "lesson"),
        )

    @cached_property
    def crew(self) -> CrewService:
        """Skills, personas and teams, and the packs that bring them."""
        return CrewService(self.log, self, self.lessons)

    @cached_property
    def manifests(self) -> ManifestBuilder:
        """What tells a host's model what there is."""
        ports, settings = self._ports, self._settings
        outside = (ports.clock, ports.ids)
        return ManifestBuilder(
            self.log,
            self,
            lambda: self.memory,
            outside,
            settings.lessons,
            settings.manifest,
        )

    def listener(self, model: Model | None) -> FeedbackDetector:
        """Who hears feedback in users' words. Without a model, only interrupts are heard."""
        heard = self.usage.metered(model, "feedback") if model else None
        return FeedbackDetector(self.log, self, heard, self._settings.sentiment)

    def embed_in_background(self) -> EmbeddingTask:
        """Give every item its vectors, now and as items come, until it is stopped."""
        embedding = EmbeddingTask(self.memory)
        embedding.start()
        return embedding

    @classmethod
    def open(
        cls,
        path_or_url: str | Path | None = None,
        *,
        settings: Settings | None = None,
        tenant: str = "local",
        ports: SystemPorts | None = None,
        deciders: tuple[Decider[Any, Any], ...] = DECIDERS,
        projections: tuple[type[Projection], ...] = PROJECTIONS,
    ) -> Self:
        """Open an engine on a folder, a file or a PostgreSQL address; by default, the data home."""
        chosen = settings or Settings()
        target = str(path_or_url or chosen.store or chosen.folder)
        views = [projection() for projection in projections]
        outside = ports or system_ports(chosen.log.lock_wait_s)
        log = open_store(target, chosen, tenant, views, outside)
        return cls(log, outside, chosen, deciders)

    @classmethod
    def open_copy(
        cls, reason: Unavailable, *, settings: Settings, tenant: str = "local", ports: SystemPorts
    ) -> Self:
        """Open what this node has of a log whose server cannot be reached now, to be read.

        Raises:
            Unavailable: the reason, which opening gave: there is no such copy.
        """
        views = [projection() for projection in PROJECTIONS]
        return cls(open_replica(reason, settings, tenant, views, ports), ports, settings)

    def do(
        self,
        command: Command,
        *,
        by: Context = USER,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Carry out a command and return when what it led to is durable."""
        self._catch_up()
        receipt = self.log.commit_queue.write(self._work(command, by, branch, request_id))
        self.followers.react(receipt.facts)
        return receipt

    def do_many(self, commands: Sequence[Command], *, by: Context = USER) -> list[Receipt]:
        """Carry out commands in their order, sharing transactions. Each is decided by itself."""
        return self.do_each([(command, by) for command in commands])

    def do_each(self, asked: Sequence[tuple[Command, Context]]) -> list[Receipt]:
        """The same, with who asks for each command."""
        self._catch_up()
        works = [self._work(command, by, None, None) for command, by in asked]
        receipts = self.log.commit_queue.write_all(works)
        self.followers.react(fact for receipt in receipts for fact in receipt.facts)
        return receipts

    def ask(
        self, query: Query[T], *, branch: str | None = None, as_of: int | datetime | None = None
    ) -> T:
        """Answer a query from the views, as things stand or as they stood."""
        with self.reading(branch=branch, as_of=as_of) as reader:
            return query.answer(reader)

    def reading(
        self, *, branch: str | None = None, as_of: int | datetime | None = None
    ) -> AbstractContextManager[Reader]:
        """A reader on one consistent state, for several questions."""
        return self.log.reading(branch=branch, as_of=as_of)

    def follow(self, *, after: int = 0, stop: Signal | None = None) -> Iterator[Fact]:
        """Every fact after a position, then each new one as it comes."""
        return self.log.follow(after=after, stop=stop)

    def purge(
        self, positions: Sequence[int], *, reason: str, actor: str, request_id: str | None = None
    ) -> Receipt:
        """Erase facts and all that was derived from them, from the log and from every cache.

        If a cache cannot be reached, that is raised once all else is erased; doing it again then
        erases what is left.
        """
        with self.log.file.reading() as reader:
            erased = purge_closure(reader, positions)
            files = attachment_digests_at(reader, erased) | character_files_at(reader, erased)
        self.files.mark_for_purge(files)
        with ExitStack() as then:  # all of it, also where the log was erased but not yet scrubbed
            then.callback(self._forget_vectors, erased)
            then.callback(self._forget_files, files)
            then.callback(erase_uploads, self.log, self._ports.clock.now())
            return self.log.purge(positions, reason=reason, actor=actor, request_id=request_id)

    def close(self) -> None:
        """Finish what is waiting and close."""
        self.log.close()

    def __enter__(self) -> Self:
        """Use the engine in a `with`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _forget_vectors(self, erased: Sequence[int]) -> None:
        vectors = path_next_to(self.log.file.path, VECTORS_FILE_NAME)
        with self.log.file.reading() as reader:
            gone = [position for position in erased if reader.record(position).data is None]
        if gone and vectors.exists():
            from everloop.memory.index.vector_store import VectorCache  # noqa: PLC0415 - numpy

            cache = VectorCache(vectors)
            cache.purge(gone)
            cache.close()

    def _forget_files(self, files: set[str]) -> None:
        wanted = self.files_wanted()
        self.files.erase(sorted(files - wanted), wanted, self._ports.clock.now())

    def _drop_files(self) -> None:
        """Let go of files here whose messages another node has purged."""
        self.files.collect_garbage(self.files_wanted(), self._ports.clock.now())

    def _catch_up(self) -> None:
        """Once: react to facts whose process died before it could."""
        if not self._caught_up:
            self._caught_up = True
            self.followers.catch_up()

    def _reactions(self) -> list[Reaction]:
        """What happens because a fact was recorded."""
        attached = Reaction("settle-files", BRINGING, self._settle_attachments)
        pictured = Reaction("settle-pictures", PICTURED, self._settle_pictures)
        policies = [
            Reaction(policy.name, (policy.event,), self._follow_policy(policy))
            for domain in DOMAINS
            for policy in domain.policies
            if policy.command in self._deciders
        ]
        return [attached, pictured, *policies]

    def _settle_attachments(self, fact: Fact) -> None:
        self.files.mark_attached(attachment_digests([fact]))

    def _settle_pictures(self, fact: Fact) -> None:
        self.files.mark_attached(character_files(fact.event))

    def _follow_policy(self, policy: Policy) -> Callable[[Fact], None]:
        def react(fact: Fact) -> None:
            with self.reading(branch=fact.branch) as reader:
                commands = policy.find(reader, fact)
            for command in commands:
                request_id = reaction_id(policy.name, fact, command)
                branch = None if policy.elsewhere else fact.branch
                work = self._work(command, ENGINE, branch, request_id)
                with suppress(Rejected):  # another process was quicker
                    done = self.log.commit_queue.write(work)
                    self.followers.react(done.facts)

        return react

    def _work(
        self, command: Command, by: Context, branch: str | None, request_id: str | None
    ) -> AppendRequest:
        decider = self._deciders.get(type(command))
        if decider is None:
            raise Invalid(
                f"nothing decides {type(command).__name__}",
                hint="Give its decider to Engine.open(deciders=…).",
            )
        return self.log.prepare_append(
            decider.stream(command),
            lambda desk: decider.drafts(command, by, desk),
            actor=by.actor,
            branch=branch,
            request_id=request_id,
        )


def _section(settings: Settings, domain: Domain) -> Any:
    """The section of the settings that a domain has, if it has one."""
    return getattr(settings, domain.name, None)


def _open_space(path: Path, settings: MemorySettings) -> "VectorIndex | None":
    """The vector space of the chosen embedder, if there is one. Only here numpy is loaded."""
    if settings.embedder == "none":
        return None
    from everloop.adapters.embedders import choose  # noqa: PLC0415 - numpy is loaded only here
    from everloop.memory.index.vector_index import VectorIndex  # noqa: PLC0415 - numpy
    from everloop.memory.index.vector_store import VectorCache  # noqa: PLC0415 - numpy

    embedder = choose.chosen_embedder(settings)
    if embedder is None:
        return None
    return VectorIndex(VectorCache(path), embedder, choose.interactive_embedder(settings, embedder))


def _narrative_model(settings: Settings, log: Log) -> Model:
    """The model that says why a lesson holds: looked for when one is asked to."""
    from everloop.adapters.models import discovery  # noqa: PLC0415 - slow to load, rarely used

    allowed = allowed_model_services(log)
    found = discovery.with_consent(discovery.discover_models(settings.models), allowed)
    return discovery.choose_model(settings.models, "narrative", found)
