"""The specifications of the commands of workers and the inbox.

Nothing here imports more than `argparse`, so that help stays fast.
"""

from argparse import ArgumentParser

from everloop.interfaces.cli.parsing.argument_types import parse_count
from everloop.interfaces.cli.parsing.command_spec import CommandSpec, no_arguments


def _request(parser: ArgumentParser) -> None:
    parser.add_argument("request", help="ID of the request")


def _answer(parser: ArgumentParser) -> None:
    _request(parser)
    parser.add_argument("choice", nargs="?", default="", help="one of its choices")
    parser.add_argument("--text", default="", help="text, for choices that need one")
    parser.add_argument(
        "--answer",
        dest="answers",
        action="append",
        default=[],
        metavar="QUESTION=ANSWER",
        help="answer to one question of a form; give it once for each answer",
    )


def _snooze(parser: ArgumentParser) -> None:
    _request(parser)
    parser.add_argument("until", help="when to ask again: a date, or date and time")


def _push_test(parser: ArgumentParser) -> None:
    parser.add_argument("device", help="ID or name of the device")


def _read(parser: ArgumentParser) -> None:
    parser.add_argument("request", nargs="?", default="", help="ID of the request (default: all)")


def _work(parser: ArgumentParser) -> None:
    parser.add_argument("what", nargs="?", default="", help="what to do, in your words")
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--repository", default="", metavar="PATH", help="work in a git worktree of this repository"
    )
    place.add_argument("--folder", default="", metavar="PATH", help="work in this folder itself")
    parser.add_argument(
        "--base", default="", metavar="BRANCH", help="branch or commit that a worktree starts from"
    )
    parser.add_argument(
        "--check", default="", metavar="COMMAND", help="command that checks the result afterwards"
    )
    parser.add_argument("--plan", action="store_true", help="make a plan first, for your review")
    parser.add_argument("--runner", default="claude", help="agent that does it")
    parser.add_argument("--network", action="store_true", help="allow network in the sandbox")
    parser.add_argument(
        "--sandbox", choices=("auto", "required", "off"), default="auto", help="use bubblewrap"
    )
    parser.add_argument(
        "--issue",
        default="",
        metavar="OWNER/REPOSITORY#N",
        help="propose what this issue on GitHub asks for; nothing else is given then",
    )
    parser.add_argument("--propose", action="store_true", help="only propose it")
    parser.add_argument(
        "--every", default="", metavar="CRON", help="do it again and again: a cron expression"
    )
    parser.add_argument(
        "--at", default="", metavar="TIME", help="do it once, at this date and time"
    )
    parser.add_argument("--zone", default="UTC", help="time zone of --every and --at")
    parser.add_argument(
        "--missed",
        choices=("once", "skip"),
        default="once",
        help="runs that were missed while nothing ran: one for all of them, or none",
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="with --every and --command: tell only when it begins to fail, or no longer does",
    )
    parser.add_argument(
        "--command",
        nargs="...",
        metavar="PROGRAM",
        help="run this program instead of an agent; comes last",
    )


def _tasks(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=parse_count,
        default=20,
        metavar="N",
        help="number of ended tasks to show",
    )


def _task(parser: ArgumentParser) -> None:
    parser.add_argument("task", help="ID of the task")


def _show_task(parser: ArgumentParser) -> None:
    _task(parser)
    parser.add_argument("--diff", action="store_true", help="also show what it changed")


def _start_task(parser: ArgumentParser) -> None:
    _task(parser)
    parser.add_argument("--skip-plan", action="store_true", help="start without a plan")


def _remove_schedule(parser: ArgumentParser) -> None:
    parser.add_argument("schedule", help="ID of the schedule")


def _allow_task(parser: ArgumentParser) -> None:
    parser.add_argument("proposer", help="agent or host whose tasks may start: agent:NAME")
    parser.add_argument("--runner", default="claude", help="runner that it may start")
    parser.add_argument(
        "--folder", default="", metavar="PATH", help="folder or repository they may work in"
    )
    parser.add_argument(
        "--per-day", type=parse_count, default=10, metavar="N", help="number of tasks per day"
    )


def _disallow_task(parser: ArgumentParser) -> None:
    parser.add_argument("rule", help="ID of the rule")


def _search_tasks(parser: ArgumentParser) -> None:
    parser.add_argument("query", help="words that all must be there")
    parser.add_argument(
        "-n", "--limit", type=parse_count, default=20, metavar="N", help="number of places to show"
    )


def _steer_task(parser: ArgumentParser) -> None:
    _task(parser)
    parser.add_argument("text", help="the message")


WORKER_COMMANDS: tuple[CommandSpec, ...] = (
    CommandSpec(
        ("work",),
        "let an agent or a command do something in the background",
        "workers.tasks",
        "work",
        _work,
        "Starts it at a terminal; from a script it is proposed, and waits for you in the inbox. It"
        " runs while `everloop serve` does. See `docs/workers.md`.",
    ),
    CommandSpec(
        ("tasks",), "list tasks by where they stand", "workers.tasks", "list_tasks", _tasks
    ),
    CommandSpec(
        ("tasks", "show"),
        "show a task with its transcript and verdict",
        "workers.tasks",
        "show",
        _show_task,
    ),
    CommandSpec(("tasks", "start"), "start a proposed task", "workers.tasks", "start", _start_task),
    CommandSpec(
        ("tasks", "retry"),
        "try the last step of a task again",
        "workers.tasks",
        "retry",
        _task,
        "For tasks that failed, were cancelled, or are uncertain: those may then happen twice.",
    ),
    CommandSpec(
        ("tasks", "cancel"),
        "end a task and everything it runs",
        "workers.tasks",
        "cancel",
        _task,
        "The task is cancelled once none of its processes is left.",
    ),
    CommandSpec(
        ("tasks", "steer"),
        "send a message to a working agent",
        "workers.tasks",
        "steer",
        _steer_task,
    ),
    CommandSpec(
        ("tasks", "search"),
        "search in what workers showed",
        "workers.tasks",
        "search",
        _search_tasks,
        "Finds their words, tool calls, what tools gave back, and the output of commands; the"
        " newest first.",
    ),
    CommandSpec(
        ("tasks", "storage"),
        "list what tasks take on this machine's disk",
        "workers.tasks",
        "list_storage",
        no_arguments,
        "Tasks that ended lose their worktrees after `workers.keep_days`; their branches stay."
        " Empty folders that a task was given are kept: delete those that you do not need.",
    ),
    CommandSpec(
        ("tasks", "rules"),
        "list rules by which tasks start without asking",
        "workers.automation",
        "list_rules",
        no_arguments,
    ),
    CommandSpec(
        ("tasks", "allow"),
        "let an agent's tasks start without asking you",
        "workers.automation",
        "allow",
        _allow_task,
        "Only you can, at a terminal. Tasks that want the network, or no sandbox, always ask.",
    ),
    CommandSpec(
        ("tasks", "disallow"),
        "remove such a rule",
        "workers.automation",
        "disallow",
        _disallow_task,
    ),
    CommandSpec(
        ("schedules",),
        "list scheduled tasks and watches",
        "workers.automation",
        "list_schedules",
        no_arguments,
        "Set one with `everloop work … --every CRON` or `--at TIME`.",
    ),
    CommandSpec(
        ("schedules", "remove"),
        "end a schedule or watch",
        "workers.automation",
        "remove_schedule",
        _remove_schedule,
    ),
    CommandSpec(
        ("inbox",),
        "list what needs you",
        "workers.inbox",
        "list_inbox",
        no_arguments,
        "Questions, approvals and plan reviews first, by priority; then failures and what was just"
        " finished. `*` marks what you have not read.",
    ),
    CommandSpec(("inbox", "show"), "show a request", "workers.inbox", "show", _request),
    CommandSpec(
        ("inbox", "answer"),
        "answer a request",
        "workers.inbox",
        "answer",
        _answer,
        "Shows the request and asks before it answers. Only you can, at a terminal or in the web"
        " app; scripts and agents cannot. The first answer counts.",
    ),
    CommandSpec(
        ("inbox", "snooze"), "put a request off until later", "workers.inbox", "snooze", _snooze
    ),
    CommandSpec(("inbox", "read"), "mark requests as read", "workers.inbox", "read", _read),
    CommandSpec(
        ("push",),
        "list devices with push messages, and how the last ones went",
        "workers.push",
        "list_push",
        no_arguments,
        "Also lists the webhook and the digest by mail. A device switches them on in its browser.",
    ),
    CommandSpec(
        ("push", "test"), "send a test message to a device", "workers.push", "send_test", _push_test
    ),
)

WORKER_GROUPS: dict[str, str] = {
    "inbox": "list and answer what needs you",
    "push": "list push messages of devices, and send a test",
    "schedules": "list and end scheduled tasks and watches",
    "tasks": "list, start, retry, cancel and steer tasks",
}
