"""What a task is to do: brief, runner, workspace, check, limits and grants."""

import shlex
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from everloop.errors import Invalid

WorkspaceKind = Literal["worktree", "folder", "scratch"]
Step = Literal["plan", "run", "check"]
CLUSTER_RUNNER = "kubernetes"  # runs a command or an agent
Outcome = Literal["succeeded", "failed", "waiting", "paused", "cancelled", "uncertain"]


class TaskLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of one task; section `[workers.limits]` has the defaults."""

    time_s: Annotated[
        int, Meta(ge=1, description="Longest time that one attempt may take, in seconds.")
    ] = 3_600
    cost_usd: Annotated[
        float, Meta(gt=0, description="Most that a task may spend on models, in US dollars.")
    ] = 5.0
    tokens: Annotated[
        int, Meta(ge=1_000, description="Most tokens that a task may use, in and out.")
    ] = 5_000_000
    attempts_max: Annotated[
        int, Meta(ge=1, description="How often a step is tried that failed for a passing reason.")
    ] = 3
    depth_max: Annotated[
        int, Meta(ge=0, description="How deep tasks may propose tasks. 0: not at all.")
    ] = 2
    fanout_max: Annotated[int, Meta(ge=0, description="How many tasks one task may propose.")] = 3
    output_bytes_max: Annotated[
        int,
        Meta(
            ge=1_000,
            description="Most output of one attempt that is kept, in bytes: the beginning and the"
            " end.",
        ),
    ] = 262_144
    memory_bytes_max: Annotated[
        int,
        Meta(ge=0, description="Most address space of each process of a command. 0: no limit."),
    ] = 0
    processes_max: Annotated[
        int, Meta(ge=0, description="Most processes of the user while a command runs. 0: no limit.")
    ] = 0


class Workspace(msgspec.Struct, frozen=True):
    """Where a task works.

    `worktree`: a git worktree of the repository at `path`, on a branch of its own from `base`.
    `folder`: the folder at `path` itself. `scratch`: an empty folder of its own.
    """

    kind: WorkspaceKind = "scratch"
    path: str = ""
    base: str = ""


class Grants(msgspec.Struct, frozen=True):
    """What a task may do besides working in its folder.

    `sandbox`: `auto` uses bubblewrap where the system has it, `required` refuses to run without.
    """

    network: bool = False
    sandbox: Literal["auto", "required", "off"] = "auto"
    skip_permissions: bool = False
    variables: tuple[str, ...] = ()  # environment variables that are passed on, by name


def check_command(line: str) -> tuple[str, ...]:
    """The words of a check that was given as one line, as a shell reads it.

    Raises:
        Invalid: a quote is not closed.
    """
    try:
        return tuple(shlex.split(line))
    except ValueError as problem:
        raise Invalid(
            f"the check {line!r} cannot be read: {problem}", hint="Close its quotes."
        ) from problem


NetworkReach = Literal["none", "model", "all"]


def network_reach(spec: "TaskSpec", *, sandboxed: bool) -> NetworkReach:
    """What a task reaches: nothing, the service of its agent's model, or everything.

    `sandboxed`: whether this machine has a sandbox. Without one nothing is kept from a task.
    """
    if spec.grants.network or spec.grants.sandbox == "off" or not sandboxed:
        return "all"
    return "none" if spec.runner == "command" else "model"


class TaskSpec(msgspec.Struct, frozen=True):
    """A task as it was proposed.

    `brief` says what to do; a command needs none. `check` is run outside the agent afterwards.
    `retry_failures`: also a failure of the work itself is tried again, not only a passing one.
    """

    title: str
    brief: str = ""
    runner: str = "command"
    command: tuple[str, ...] = ()
    check: tuple[str, ...] = ()
    plan_first: bool = False
    model: str = ""
    workspace: Workspace = Workspace()
    limits: TaskLimits = TaskLimits()
    grants: Grants = Grants()
    retry_failures: bool = False
    thread_id: str = ""
    parent_id: str = ""
    depth: int = 0
