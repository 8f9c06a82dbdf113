"""The task scheduler: starts what is due, follows what runs, and records how it ends.

On each host one process schedules. It keeps nothing that the log and the folders of the attempts do
not tell: after a crash the next one goes on from there. An attempt whose process was lost without
an end is uncertain.

With several nodes on one log, whichever first records an attempt runs it. A task stays on the node
that ran it, where its workspace and the agent's session are, until that node is lost.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC
from pathlib import Path
from typing import NamedTuple

from everloop.background.task import BackgroundTask
from everloop.errors import EverloopError, NotFound, Rejected, RunnerFailed
from everloop.log import Command, CommandBus, Context, Log
from everloop.log.model.record import to_microseconds
from everloop.log.ownership import Claim
from everloop.ports import Clock
from everloop.tracing import note_operation
from everloop.workers.execution.cleanup import TaskCleanup
from everloop.workers.execution.other_nodes import OtherNodes, scheduling_claim
from everloop.workers.execution.ports import (
    ApprovalReport,
    Conclusion,
    DeliveredReport,
    Processes,
    ProcessExit,
    ProcessStatus,
    QuestionReport,
    Report,
    Runner,
    SessionReport,
    SpendingReport,
    TaskFolders,
    Workspaces,
)
from everloop.workers.model import commands as c
from everloop.workers.model.state import TASK, TRANSCRIPT, Task, task_stream, transcript_stream
from everloop.workers.queries import open_task_ids, spending_since
from everloop.workers.settings import WorkerSettings

ENGINE = Context(actor="engine")
TICK_S = 0.1
READ_BYTES = 65_536
TAIL_BYTES = 262_144
LOST = (
    "The process was lost before it ended, so what it did is not known. Nothing was left running."
)
ELSEWHERE = "It ran on a machine that is gone, so how it ended is not known."
LEFT_THERE = "Its work is on a machine that is gone."
UNSTARTED = "The process was not started."


class WorkerMachine(NamedTuple):
    """What tasks run with here."""

    runners: Sequence[Runner]
    processes: Processes
    workspaces: Workspaces
    folders: TaskFolders
    serves: Callable[[str], bool] = bool  # whether tasks of a runner, by its name, are for it
    name: str = "workers"


class TaskScheduler(BackgroundTask):
    """Runs the tasks of one log."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        clock: Clock,
        machine: WorkerMachine,
        settings: WorkerSettings,
        *,
        approval_lives_s: int = 86_400,
    ) -> None:
        self._host = machine.processes.host
        super().__init__(log, machine.name, self._work, claim=scheduling_claim(self._host))
        self._others = OtherNodes(log, clock, settings.node_lost_s)
        self._bus, self._clock, self._settings = bus, clock, settings
        self._runners: Mapping[str, Runner] = {one.name: one for one in machine.runners}
        self._processes, self._workspaces = machine.processes, machine.workspaces
        self._serves = machine.serves
        parts = (machine.folders, machine.workspaces)
        self._cleanup = TaskCleanup(log, bus, clock, parts, settings.keep_days)
        self._approval_lives_s = approval_lives_s
        self._read: dict[Path, int] = {}  # how much of each attempt's output was recorded
        self._unwritten: list[tuple[Path, Command, Context]] = []  # transcripts of this tick
        self._sent: dict[Path, list[str]] = {}  # ids of the input lines of each attempt

    @property
    def runner_names(self) -> list[str]:
        """The runners that a task can choose here."""
        return [name for name, runner in self._runners.items() if runner.is_installed]

    def tick(self) -> None:
        """Look once at every open task and do what there is to do."""
        tasks = self._open_tasks()
        self._drop_ended(tasks)
        broken: OSError | None = None
        found = self._statuses(tasks)
        for task in tasks:
            try:
                self._step(task, found.get(task.task_id))
            except Rejected as problem:
                self._fail_step(task, problem)
            except OSError as problem:  # of this task's folder: the others go on
                broken = problem
        self._write_transcripts()
        hosts = [task.attempt.host for task in tasks if task.attempt is not None]
        running = hosts.count(self._host)
        for task in tasks:
            if running >= self._settings.parallel_max:
                break
            if self._may_begin(task) and self._begin(task):
                running += 1
        self._cleanup.step(self._host)
        if broken is not None:
            raise RunnerFailed(
                f"the folder of a task cannot be read: {broken}", hint="Look at the disk."
            ) from broken

    def end_strays(self) -> None:
        """End processes of attempts that another node recorded as lost while this one was away."""
        running = [task for task in self._open_tasks() if task.attempt is not None]
        known = {self._folder(task) for task in running}
        alive = {self._processes.folder(*attempt) for attempt in self._processes.alive()}
        for folder in alive - known:
            self._processes.terminate(folder)

    def _drop_ended(self, tasks: Sequence[Task]) -> None:
        """End what was followed here until another node recorded it as lost."""
        known = {self._folder(task) for task in tasks if task.attempt is not None}
        for folder in self._read.keys() - known:
            self._processes.terminate(folder)
            del self._read[folder]

    def _work(self, claim: Claim) -> None:
        self.end_strays()
        while claim.held and not self.over:
            self.tick()
            self.stopping.wait(TICK_S)

    def _open_tasks(self) -> list[Task]:
        with self._log.reading() as reader:
            names = open_task_ids(reader)
        found = (self._log.state(TASK, task_stream(name)) for name in names)
        known = [task for task in found if task is not None and not task.ended]
        return [task for task in known if self._serves(task.spec.runner)]

    def _statuses(self, tasks: Sequence[Task]) -> dict[str, ProcessStatus]:
        """How the processes of this node are, all seen before anything is done about one."""
        found: dict[str, ProcessStatus] = {}
        for task in tasks:
            if task.attempt is not None and task.attempt.host == self._host:
                with suppress(OSError):  # looked for again, and told, when it is this task's turn
                    found[task.task_id] = self._processes.status(self._folder(task))
        return found

    def _step(self, task: Task, status: ProcessStatus | None) -> None:
        if task.attempt is not None and task.attempt.host != self._host:
            self._leave_uncertain(task)
        elif task.attempt is not None:
            self._follow(task, status or self._processes.status(self._folder(task)))
        elif task.cancelling:
            self._do(c.ConfirmCancelled(task.task_id))
        elif task.state == "review" and task.disposition and self._is_here(task):
            self._dispose(task)

    def _is_here(self, task: Task) -> bool:
        """Whether a task is for this node: it ran here, or nowhere, or its node is lost."""
        return task.host in ("", self._host) or self._others.is_lost(task.host)

    def _leave_uncertain(self, task: Task) -> None:
        """End an attempt of another node, if that node is lost, and cannot come back meanwhile."""
        claim = self._others.keep_away(task.host) if self._others.is_lost(task.host) else None
        if claim is not None:
            with claim:
                self._end(task, Conclusion("uncertain", ELSEWHERE))

    # -- starting ----------------------------------------------------------------------------------

    def _may_begin(self, task: Task) -> bool:
        return task.due and task.retry_at_us <= self._clock.now_us() and self._is_here(task)

    def _begin(self, task: Task) -> bool:
        """Begin the next step: first on record, then as a process. False if it was not begun."""
        if self._is_over_budget(task):
            return False
        number = task.attempts + 1
        begun = self._bus.do(c.BeginAttempt(task.task_id, number, self._host), by=ENGINE)
        known = self._reload(task)
        if not begun.facts or known.attempt is None:
            return False
        self._start(known)
        return True

    def _start(self, task: Task) -> None:
        """Start the process of an attempt that is on record."""
        attempt = task.attempt
        assert attempt is not None, "it was begun just now"
        folder = self._folder(task)
        try:
            place = self._workspaces.prepare(task)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if attempt.step == "check":
                found = self._workspaces.compare_check_files(task)
                self._do(c.CompareCheckFiles(task.task_id, attempt.number, found))
            launch = self._runner(task).launch(task, place, folder)
            self._processes.start(folder, launch)
        except RunnerFailed as problem:
            self._end(task, Conclusion("failed", _said(problem), passing=True))
        except OSError as problem:  # a full disk, a folder that may not be written
            reason = f"Its folder cannot be prepared: {problem.strerror}."
            self._end(task, Conclusion("failed", reason, passing=True))
        except Rejected as problem:
            self._end(task, Conclusion("failed", _said(problem)))

    def _is_over_budget(self, task: Task) -> bool:
        """Pause a task that may not spend any more, if it spends at all."""
        if task.step == "check" or task.spec.runner == "command":
            return False
        limit, reason = self._reached_limit(task)
        if not limit:
            return False
        self._do(c.PauseTask(task.task_id, limit, reason))
        return True

    def _reached_limit(self, task: Task) -> tuple[str, str]:
        """The limit that a task has reached, with a sentence; empty if none."""
        limits = task.spec.limits
        if task.cost_usd >= limits.cost_usd:
            return "cost", f"It spent ${task.cost_usd:.2f} of ${limits.cost_usd:.2f}."
        if task.tokens >= limits.tokens:
            return "token", f"It used {task.tokens:,} of {limits.tokens:,} tokens."
        now = self._clock.now().astimezone(UTC)
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        with self._log.reading() as reader:
            spent = spending_since(reader, to_microseconds(midnight)).cost_usd
        if spent and spent >= self._settings.day_cost_usd:
            most = self._settings.day_cost_usd
            return "daily", f"All tasks together spent ${spent:.2f} of ${most:.2f} today."
        return "", ""

    # -- following ---------------------------------------------------------------------------------

    def _follow(self, task: Task, status: ProcessStatus) -> None:
        """Record what an attempt showed, and its end once it has ended."""
        folder = self._folder(task)
        more = self._record_output(task, folder, ended=status.exit is not None)
        if status.alive:
            self._steer(self._reload(task), folder)
        elif status.exit is not None:
            if not more:
                self._conclude(task, folder, status.exit)
        elif status.begun:
            self._processes.sweep(folder)
            self._end(task, Conclusion("uncertain", LOST))
        else:
            self._end(task, Conclusion("failed", UNSTARTED, passing=True))

    def _record_output(self, task: Task, folder: Path, *, ended: bool) -> bool:
        """Read one piece of output, to be recorded in this tick; True if there is more."""
        attempt = task.attempt
        assert attempt is not None
        offset = self._recorded(task, folder)
        data = self._processes.read(folder, offset, READ_BYTES)
        if not data:
            return False
        full = len(data) == READ_BYTES
        parsed = self._runner(task).parse(data, ended=ended and not full)
        if not parsed.consumed and full:  # one line that is longer than a piece
            data = self._processes.read(folder, offset, TAIL_BYTES * 64)
            parsed = self._runner(task).parse(data, ended=ended)
        if not parsed.consumed:
            return False
        upto = offset + parsed.consumed
        for index, report in enumerate(parsed.reports):
            self._take(task, attempt.number, report, f"{offset}.{index}")
        record = c.RecordTranscript(task.task_id, attempt.number, upto, parsed.entries)
        self._unwritten.append((folder, record, _worker(task)))
        self._read[folder] = upto
        return True

    def _write_transcripts(self) -> None:
        """Record what was read of all tasks: many share one write to the disk."""
        unwritten, self._unwritten = self._unwritten, []
        if not unwritten:
            return
        try:
            self._bus.do_each([(record, by) for _, record, by in unwritten])
        except EverloopError:
            for folder, _, _ in unwritten:  # read again, from where the log ends
                self._read.pop(folder, None)
            raise

    def _recorded(self, task: Task, folder: Path) -> int:
        """How much of the output was recorded: from memory, after a restart from the log."""
        if folder not in self._read:
            known = self._log.state(TRANSCRIPT, transcript_stream(task.task_id))
            assert task.attempt is not None
            self._read[folder] = known.upto.get(task.attempt.number, 0) if known else 0
        return self._read[folder]

    def _take(self, task: Task, attempt: int, report: Report, name: str) -> None:
        """Record what a worker reports, once, whoever reads it again after a crash."""
        key = f"worker-{task.task_id}-{attempt}-{name}"
        match report:
            case SessionReport(session_id=session_id):
                command: Command = c.NoteSession(task.task_id, attempt, session_id)
            case QuestionReport(call_id=call_id, questions=questions):
                request = f"{task.task_id}.{call_id}"
                command = c.AskQuestion(task.task_id, attempt, request, call_id, questions)
            case ApprovalReport(call_id=call_id, tool=tool, arguments=arguments):
                request = f"{task.task_id}.{call_id}"
                command = c.RequestApproval(
                    task.task_id, attempt, request, call_id, tool, arguments, self._approval_lives_s
                )
            case SpendingReport(cost_usd=cost, tokens=tokens):
                command = c.RecordSpending(task.task_id, attempt, cost, tokens)
            case DeliveredReport(message_id=message_id):
                command = c.NoteDelivered(task.task_id, message_id, attempt)
        self._bus.do(command, by=_worker(task), request_id=key)

    def _steer(self, task: Task, folder: Path) -> None:
        """Bring answers and messages to a running process, and stop what went over a limit."""
        sent = self._sent.setdefault(folder, [])
        for name, line in self._runner(task).input_lines(task, sent):
            self._processes.send(folder, line)
            sent.append(name)
        spends = task.spec.runner != "command" and task.step != "check"
        if task.cancelling or (spends and self._reached_limit(task)[0]):
            self._processes.terminate(folder)

    def _conclude(self, task: Task, folder: Path, ended: ProcessExit) -> None:
        """Record the end of a process, when nothing that it started is left."""
        self._processes.sweep(folder)
        size = self._recorded(task, folder)
        tail = self._processes.read(folder, max(0, size - TAIL_BYTES), TAIL_BYTES)
        found = self._runner(task).conclude(task, ended, tail)
        task = self._reload(task)
        stopped = found.outcome == "cancelled" and not task.cancelling
        if stopped:
            limit, reason = self._reached_limit(task)
            found = (
                Conclusion("paused", reason, limit=limit, claim=found.claim)
                if limit
                else Conclusion("uncertain", "Something outside of Everloop ended it.")
            )
        self._end(task, found, ended)

    def _end(self, task: Task, found: Conclusion, ended: ProcessExit | None = None) -> None:
        attempt = task.attempt
        assert attempt is not None, "only an attempt that was begun ends"
        self._write_transcripts()
        folder = self._folder(task)
        note_operation(
            "worker.attempt",
            ended.duration_s if ended else 0.0,
            outcome=found.outcome,
            number=attempt.number,
        )
        self._do(
            c.EndAttempt(
                task.task_id,
                attempt.number,
                found.outcome,
                ended.exit_code if ended else -1,
                ended.output_digest if ended else "",
                found.reason,
                round(ended.duration_s, 3) if ended else 0.0,
                found.passing,
                found.limit,
                found.plan,
                found.claim,
                elsewhere=attempt.host != self._host,
            )
        )
        self._read.pop(folder, None)
        self._sent.pop(folder, None)

    # -- ending ------------------------------------------------------------------------------------

    def _dispose(self, task: Task) -> None:
        """Keep, merge or discard the workspace, as the user chose."""
        try:
            if task.host not in ("", self._host) and task.disposition == "merge":
                raise NotFound(LEFT_THERE, hint="Keep or discard it, or ask for changes.")
            detail, done = self._workspaces.dispose(task, task.disposition), True
        except EverloopError as problem:
            detail, done = _said(problem), False
        self._do(c.SettleDisposition(task.task_id, task.disposition, done, detail))

    def _fail_step(self, task: Task, problem: Rejected) -> None:
        """End an attempt that cannot go on, such as one whose runner is gone."""
        fresh = self._reload(task)
        if fresh.attempt is not None:
            self._processes.terminate(self._folder(fresh))
            self._end(fresh, Conclusion("failed", _said(problem)))

    # -- helpers -----------------------------------------------------------------------------------

    def _runner(self, task: Task) -> Runner:
        name = "command" if task.step == "check" else task.spec.runner
        found = self._runners.get(name)
        if found is None:
            raise NotFound(
                f"there is no runner {name!r} here", hint=f"Use {', '.join(self._runners)}."
            )
        return found

    def _folder(self, task: Task) -> Path:
        assert task.attempt is not None
        return self._processes.folder(task.task_id, task.attempt.number)

    def _reload(self, task: Task) -> Task:
        found = self._log.state(TASK, task_stream(task.task_id))
        assert found is not None, "a task is not unmade"
        return found

    def _do(self, command: Command) -> None:
        self._bus.do(command, by=ENGINE)


def _worker(task: Task) -> Context:
    return Context(actor=f"worker:{task.task_id}")


def _said(problem: EverloopError) -> str:
    return f"{problem}. {problem.hint}".strip()
