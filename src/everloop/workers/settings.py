"""Settings of workers; section `[workers]`."""

from typing import Annotated

import msgspec
from msgspec import Meta

from everloop.workers.model.check_files import PROTECTED_PATHS
from everloop.workers.model.spec import TaskLimits

NAME = r"^[a-z0-9]+(-[a-z0-9]+)*$"


class AgentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An agent of the Agent Client Protocol: how it is started; section `[workers.agents.NAME]`.

    `variables` of the environment are passed on to it, and `login_folders` of your home are shared
    with it, so that it uses your login. Nothing else of either is. In the sandbox it reaches only
    `hosts`, and those that its variables name, unless a task grants it the network.
    """

    command: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    login_folders: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


CLAUDE_HOSTS = ("api.anthropic.com", "console.anthropic.com", "platform.claude.com")
OPENAI_HOSTS = ("api.openai.com", "auth.openai.com", "chatgpt.com")
GEMINI_HOSTS = (
    "generativelanguage.googleapis.com",
    "cloudcode-pa.googleapis.com",
    "oauth2.googleapis.com",
)
MANY_HOSTS = ("api.anthropic.com", *OPENAI_HOSTS, *GEMINI_HOSTS, "openrouter.ai")
KNOWN_AGENTS: dict[str, AgentSettings] = {
    "codex": AgentSettings(("codex-acp",), ("OPENAI_API_KEY",), (".codex",), OPENAI_HOSTS),
    "gemini": AgentSettings(("gemini", "--acp"), ("GEMINI_API_KEY",), (".gemini",), GEMINI_HOSTS),
    "goose": AgentSettings(
        ("goose", "acp"), (), (".config/goose", ".local/share/goose"), MANY_HOSTS
    ),
    "opencode": AgentSettings(("opencode", "acp"), (), (".local/share/opencode",), MANY_HOSTS),
}


class KubernetesSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tasks as Kubernetes Jobs; section `[workers.kubernetes]`. Off without a namespace."""

    namespace: Annotated[
        str,
        Meta(
            pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?$",
            description="The namespace of the Jobs of workers. Empty: no Kubernetes.",
        ),
    ] = ""
    image: Annotated[
        str, Meta(description="The image in which Jobs run, such as that of Containerfile.agent.")
    ] = "everloop-agent"
    agent_command: Annotated[
        tuple[str, ...],
        Meta(description="What a Job runs for a task without a command; the brief comes last."),
    ] = ("claude", "--print", "--dangerously-skip-permissions")
    kubeconfig: Annotated[
        str,
        Meta(description="A kubeconfig file. Empty: the account of the pod that Everloop is in."),
    ] = ""
    service_account: Annotated[
        str, Meta(description="The service account of workers' pods; its token is not mounted.")
    ] = "everloop-worker"
    login_secret: Annotated[
        str, Meta(description="A Secret with the agent's login, mounted as files. Empty: none.")
    ] = ""
    cpu_request: Annotated[str, Meta(description="Processors that a Job is sure to get.")] = "500m"
    cpu_limit: Annotated[str, Meta(description="Most processors of a Job.")] = "2"
    memory_request: Annotated[str, Meta(description="Memory that a Job is sure to get.")] = "512Mi"
    memory_limit: Annotated[str, Meta(description="Most memory of a Job.")] = "2Gi"
    disk: Annotated[str, Meta(description="Most disk space of a Job's folder.")] = "4Gi"


class WorkerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many tasks run at once, what they may spend, and their limits; section `[workers]`."""

    parallel_max: Annotated[
        int, Meta(ge=1, description="Maximum number of tasks that run on a node at the same time.")
    ] = 3
    day_cost_usd: Annotated[
        float,
        Meta(
            ge=0,
            description="Most that all tasks may spend on models in a day (UTC), in US dollars."
            " Then they pause.",
        ),
    ] = 20.0
    schedule_grace_s: Annotated[
        int,
        Meta(
            ge=1,
            description="How late a scheduled task may start, in seconds, before its run counts as"
            " missed.",
        ),
    ] = 60
    protected_paths: Annotated[
        tuple[str, ...],
        Meta(
            description="Files that checks depend on, as patterns: tests, and what configures them."
            " A verdict says which of them the worker changed, and then is no evidence. A name"
            " without a slash is meant in any folder; `**` is any number of folders."
        ),
    ] = PROTECTED_PATHS
    check_files_max: Annotated[
        int,
        Meta(
            ge=1,
            description="Most files of a workspace that are looked through for those that its"
            " check depends on. With more, whether they changed is not known.",
        ),
    ] = 50_000
    node_lost_s: Annotated[
        int,
        Meta(
            ge=1,
            description="How long the others wait for a node that is gone, in seconds, before they"
            " take over its tasks and what it ran counts as uncertain.",
        ),
    ] = 60
    keep_days: Annotated[
        int,
        Meta(
            ge=0,
            description="How many days a task that ended keeps its worktree and the folders of its"
            " processes. Then its work is committed to its branch, which stays, and they are"
            " removed; nothing else of it is. 0: for ever.",
        ),
    ] = 30
    claude_model: Annotated[
        str, Meta(description="The model of Claude Code tasks. Empty: Claude Code's own default.")
    ] = ""
    claude_hosts: Annotated[
        tuple[str, ...],
        Meta(
            description="Hosts that Claude Code reaches in the sandbox without a grant: its model"
            " service. `name` (port 443), `name:port` or `*.name`. The host of"
            " `ANTHROPIC_BASE_URL` is added."
        ),
    ] = CLAUDE_HOSTS
    agents: Annotated[
        dict[Annotated[str, Meta(pattern=NAME, max_length=30)], AgentSettings],
        Meta(
            description="Agents of the Agent Client Protocol, by name, besides codex, gemini, goose"
            " and opencode: `[workers.agents.NAME]` with `command`, `variables`,"
            " `login_folders` and `hosts`."
        ),
    ] = {}
    limits: TaskLimits = TaskLimits()
    kubernetes: KubernetesSettings = KubernetesSettings()
