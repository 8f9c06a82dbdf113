"""`everloop work` and `everloop tasks`: start a task, look at it, retry, cancel, steer."""

import shlex
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

import msgspec

from everloop.doctor import size_words
from everloop.errors import Invalid
from everloop.interfaces.cli.audience import check_can_read_everything, command_context
from everloop.interfaces.cli.commands.workers.automation import set_schedule
from everloop.interfaces.cli.output.screen import BAD, DIM, GOOD, NAME, WARNING, Screen, styled_text
from everloop.interfaces.cli.output.times import format_with_age
from everloop.interfaces.cli.session import USER, Session
from everloop.workers import (
    CLUSTER_RUNNER,
    ENDED,
    Grants,
    IssueView,
    TaskLimits,
    TaskSpec,
    TaskStorage,
    TaskView,
    Workspace,
    WorkspaceKind,
    check_command,
    describe_check_files,
)

COLOURS = {"failed": BAD, "uncertain": BAD, "waiting": WARNING, "planned": WARNING, "done": GOOD}


def work(session: Session, args: Namespace) -> None:
    """Start a task; without a terminal it is proposed, and waits for you in the inbox."""
    if args.issue:
        _work_on_issue(session, args)
        return
    with session.open_engine() as engine:
        service = engine.workers
        spec = _spec(args, service.settings.limits)
        if args.every or args.at:
            set_schedule(session, engine, args, spec)
            return
        start = session.actor == USER and not args.propose
        done = service.propose(spec, command_context(session), start=start)
    word = "Started" if start else "Proposed; it starts when you say so in the inbox"

    def draw(screen: Screen) -> None:
        screen.paragraph((word, GOOD), ": ", (done.task.task_id, NAME), f" {done.task.spec.title}")
        screen.advice(
            ("It runs while `everloop serve` does. `everloop tasks` shows where it stands.", DIM)
        )

    session.print_result(_document(done), draw)


def _work_on_issue(session: Session, args: Namespace) -> None:
    """Ask for an issue to become a task. The server fetches it, for it has the token."""
    if args.what or args.command or args.repository or args.folder or args.every or args.at:
        raise Invalid(
            "an issue says itself what to do, and the settings say where",
            hint="Leave out everything but --issue.",
        )
    with session.open_engine() as engine:
        issue = engine.github.name_issue(args.issue, command_context(session))
    name = f"{issue.repository}#{issue.number}"

    def draw(screen: Screen) -> None:
        screen.paragraph(("Asked for", GOOD), " ", (name, NAME))
        words = "It is fetched while `everloop serve` runs, and then waits in your inbox."
        screen.advice((words, DIM))

    session.print_result({"repository": issue.repository, "number": issue.number}, draw)


def list_tasks(session: Session, args: Namespace) -> None:
    """List tasks by where they stand."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        board = engine.workers.board(args.limit)
    groups = {
        "Proposed": board.proposed,
        "At work": board.active,
        "Waiting for you": board.waiting,
        "In review": board.review,
        "Ended": board.ended,
    }

    def draw(screen: Screen) -> None:
        for title, found in groups.items():
            _draw_group(screen, session, title, found)
        if not any(groups.values()):
            screen.advice('No tasks yet. Start one: everloop work "…"')

    document = {
        name: [_document(one) for one in found]
        for name, found in msgspec.structs.asdict(board).items()
    }
    session.print_result(document, draw)


def show(session: Session, args: Namespace) -> None:
    """Show one task with what it claims, the verdict and the end of its transcript."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        found = engine.workers.find(args.task)
        parts = engine.workers.transcript(args.task)
        diff = engine.workers.diff(args.task) if args.diff else ""
        issue = engine.github.issue_of_task(args.task)
    entries = [entry for part in parts for entry in part.entries]
    document = {
        **_document(found),
        "issue": issue,
        "transcript": entries,
        **({"diff": diff} if args.diff else {}),
    }

    def draw(screen: Screen) -> None:
        _draw(screen, found)
        if issue is not None:
            _draw_issue(screen, issue)
        for entry in entries:
            label = f"{entry.name or entry.kind}: " if entry.kind != "output" else ""
            screen.paragraph((label, DIM), entry.text.rstrip("\n"))
        if diff:
            screen.paragraph(diff)

    session.print_result(document, draw)


def search(session: Session, args: Namespace) -> None:
    """Search in what workers showed."""
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        hits = engine.workers.search(args.query, args.limit)
        titles = {one.task_id: engine.workers.find(one.task_id).task.spec.title for one in hits}

    def draw(screen: Screen) -> None:
        for one in hits:
            screen.paragraph(
                (titles[one.task_id], NAME), f" {format_with_age(one.at, session.now)}"
            )
            screen.paragraph((f"{one.name or one.kind}: ", DIM), one.excerpt)
            screen.line(styled_text((f"  {one.task_id}", DIM)))
        if not hits:
            screen.paragraph("Nothing found.")

    found = [{**msgspec.structs.asdict(one), "title": titles[one.task_id]} for one in hits]
    session.print_result({"hits": found}, draw)


def list_storage(session: Session, args: Namespace) -> None:
    """List what tasks take on this machine's disk."""
    del args
    with session.open_for_reading() as engine:
        check_can_read_everything(session, engine)
        found = engine.workers.storage()

    def draw(screen: Screen) -> None:
        for one in found:
            title = one.title or ("Of no task of this log" if one.task_id else "Being deleted")
            screen.paragraph((f"{size_words(one.size):>8}  ", NAME), title)
            for words in (one.task_id, one.workspace, _removal_words(one)):
                if words:
                    screen.paragraph((f"          {words}", DIM))
        if found:
            screen.paragraph(f"{size_words(sum(one.size for one in found))} in all.")
        else:
            screen.paragraph("No task takes any space.")

    session.print_result({"tasks": found}, draw)


def _removal_words(one: TaskStorage) -> str:
    """What becomes of the folders of a task, in a sentence."""
    if one.state not in ENDED:
        return ""
    if one.removal is None:
        return f"{one.state}; kept until you delete it"
    return f"{one.state}; worktree and process folders are removed on {one.removal:%Y-%m-%d}"


def start(session: Session, args: Namespace) -> None:
    """Start a proposed task."""
    with session.open_engine() as engine:
        done = engine.workers.start(args.task, command_context(session), skip_plan=args.skip_plan)
    _print_change(session, done)


def retry(session: Session, args: Namespace) -> None:
    """Try the last step of a task again."""
    with session.open_engine() as engine:
        done = engine.workers.retry(args.task, command_context(session))
    _print_change(session, done)


def cancel(session: Session, args: Namespace) -> None:
    """End a task and everything it runs."""
    with session.open_engine() as engine:
        done = engine.workers.cancel(args.task, command_context(session))
    _print_change(session, done)


def steer(session: Session, args: Namespace) -> None:
    """Send the agent a message while it works."""
    with session.open_engine() as engine:
        done = engine.workers.steer(args.task, args.text, command_context(session))
    _print_change(session, done)


def _spec(args: Namespace, limits: TaskLimits) -> TaskSpec:
    if args.command == []:
        raise Invalid("--command needs a program", hint="Put the program and its arguments last.")
    command = tuple(args.command or ())
    if not args.what.strip() and not command:
        raise Invalid(
            "nothing to do",
            hint='Say what to do: everloop work "…"; or name a program after --command.',
        )
    in_cluster = args.runner == CLUSTER_RUNNER
    brief = "" if command else args.what
    title = args.what or shlex.join(command)
    kind: WorkspaceKind = "worktree" if args.repository else "folder" if args.folder else "scratch"
    where = args.repository or args.folder
    return TaskSpec(
        " ".join(title.split())[:200],
        brief,
        "command" if command and not in_cluster else args.runner,
        command,
        check_command(args.check),
        args.plan,
        workspace=Workspace(
            kind, str(Path(where).expanduser().resolve()) if where else "", args.base
        ),
        limits=limits,
        grants=Grants(network=args.network, sandbox=args.sandbox),
    )


def _document(view: TaskView) -> dict[str, object]:
    task = view.task
    return {
        "task_id": task.task_id,
        "title": task.spec.title,
        "runner": task.spec.runner,
        "state": task.state,
        "step": task.step,
        "attempts": task.attempts,
        "cancelling": task.cancelling,
        "plan": task.plan,
        "claim": task.claim,
        "verdict": task.verdict,
        "reason": task.reason,
        "worktree_removed": task.worktree_removed,
        "cost_usd": task.cost_usd,
        "tokens": task.tokens,
        "requests": list(task.requests),
        "proposed_by": view.proposed_by,
        "proposed_at": view.proposed_at,
        "changed_at": view.changed_at,
    }


def _draw_group(screen: Screen, session: Session, title: str, found: Sequence[TaskView]) -> None:
    if not found:
        return
    screen.paragraph((title, NAME))
    if not screen.wide:  # an id and a title do not fit beside each other
        for one in found:
            state = one.task.state
            screen.paragraph(one.task.spec.title, (f"  {state}", COLOURS.get(state, "")))
            screen.paragraph((f"  {one.task.task_id}", DIM))
        return
    screen.table(
        ("id", "state", "changed", "title"),
        [
            (
                styled_text((one.task.task_id, DIM)),
                styled_text((one.task.state, COLOURS.get(one.task.state, ""))),
                format_with_age(one.changed_at, session.now),
                one.task.spec.title,
            )
            for one in found
        ],
    )


def _draw(screen: Screen, view: TaskView) -> None:
    task = view.task
    screen.paragraph((task.spec.title, NAME), (f"  {task.task_id}", DIM))
    verdict = task.verdict
    screen.fields(
        [
            ("state", f"{task.state}{' (cancelling)' if task.cancelling else ''}"),
            ("reason", task.reason),
            ("worktree", task.worktree_removed and f"Removed. {task.worktree_removed}"),
            ("spent", f"${task.cost_usd:.2f}, {task.tokens:,} tokens" if task.tokens else ""),
            ("worker says", task.claim),
            (
                "check",
                f"{verdict.command}: {'passed' if verdict.passed else 'failed'}"
                f" (exit code {verdict.exit_code})"
                if verdict
                else "",
            ),
            ("check files", describe_check_files(verdict.check_files) if verdict else ""),
        ]
    )


def _draw_issue(screen: Screen, issue: IssueView) -> None:
    shown = f"#{issue.pull_request} ({issue.pull_request_state}) {issue.pull_request_url}"
    count = f"{issue.iterations} of {issue.iterations_max}"
    screen.fields(
        [
            ("issue", f"{issue.repository}#{issue.number} {issue.issue_url}"),
            ("pull request", shown if issue.pull_request else "none yet"),
            ("failed checks", f"given back {count} times" if issue.pull_request else ""),
            ("on GitHub", issue.problem),
        ]
    )


def _print_change(session: Session, view: TaskView) -> None:
    task = view.task
    state = "cancelling" if task.cancelling else task.state
    session.print_result(
        _document(view),
        lambda screen: screen.paragraph(
            ("Done", GOOD), ": ", (task.task_id, NAME), f" is {state}. {task.spec.title}"
        ),
    )
