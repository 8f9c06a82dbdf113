"""Workers: tasks that commands and agents do, with attempts, limits, approvals and verdicts.

The pure model decides; the scheduler runs processes through the ports in `execution/ports.py`.
"""

from typing import TYPE_CHECKING

from everloop.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from everloop.workers.automation.background import ScheduleTask
    from everloop.workers.automation.domain import AUTOMATION
    from everloop.workers.automation.model.events import MissedRule, StartRule, Timing, TimingKind
    from everloop.workers.automation.queries import is_news
    from everloop.workers.automation.service import AutomationService, ScheduleView
    from everloop.workers.domain import WORKERS
    from everloop.workers.execution.ports import (
        ApprovalReport,
        Conclusion,
        DeliveredReport,
        FolderSize,
        Launch,
        Parsed,
        PreparedWorkspace,
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
    from everloop.workers.execution.scheduler import TaskScheduler, WorkerMachine
    from everloop.workers.github.background import GitHubTask, PushTask
    from everloop.workers.github.domain import GITHUB
    from everloop.workers.github.model.events import Comment, CommentKind, FailedCheck
    from everloop.workers.github.ports import (
        BranchPublisher,
        GitHub,
        GitHubRefused,
        GitHubUnclear,
        PushedBranch,
        RateLimited,
        RemoteIssue,
        RemotePost,
        RemotePullRequest,
    )
    from everloop.workers.github.queries import IssueRef
    from everloop.workers.github.service import GitHubService, IssueView
    from everloop.workers.github.settings import GitHubSettings, RepositorySettings
    from everloop.workers.model.check_files import (
        PROTECTED_PATHS,
        CheckFiles,
        compare_check_files,
        describe_check_files,
        is_check_file,
        script_of,
    )
    from everloop.workers.model.events import (
        CheckRecorded,
        PlanRevised,
        RevisionRequested,
        TaskDone,
        TaskFailed,
        TaskLeftUncertain,
        TaskProposed,
        TranscriptEntry,
    )
    from everloop.workers.model.spec import (
        CLUSTER_RUNNER,
        Grants,
        NetworkReach,
        TaskLimits,
        TaskSpec,
        Workspace,
        WorkspaceKind,
        check_command,
        network_reach,
    )
    from everloop.workers.model.state import ENDED, Reply, Task, Verdict
    from everloop.workers.policies import claim_and_verdict, task_wishes
    from everloop.workers.queries import TranscriptPart
    from everloop.workers.routing.commands import SuggestRouting
    from everloop.workers.routing.domain import TASK_ROUTING, running_tasks
    from everloop.workers.routing.events import TaskMatch
    from everloop.workers.routing.state import Suggestion
    from everloop.workers.service import TaskBoard, TaskStorage, TaskView, WorkerService
    from everloop.workers.settings import (
        CLAUDE_HOSTS,
        KNOWN_AGENTS,
        AgentSettings,
        KubernetesSettings,
        WorkerSettings,
    )
    from everloop.workers.timeline import TaskTimeline, TimelineSpan

__all__ = [
    "AUTOMATION",
    "CLAUDE_HOSTS",
    "CLUSTER_RUNNER",
    "ENDED",
    "GITHUB",
    "KNOWN_AGENTS",
    "PROTECTED_PATHS",
    "TASK_ROUTING",
    "WORKERS",
    "AgentSettings",
    "ApprovalReport",
    "AutomationService",
    "BranchPublisher",
    "CheckFiles",
    "CheckRecorded",
    "Comment",
    "CommentKind",
    "Conclusion",
    "DeliveredReport",
    "FailedCheck",
    "FolderSize",
    "GitHub",
    "GitHubRefused",
    "GitHubService",
    "GitHubSettings",
    "GitHubTask",
    "GitHubUnclear",
    "Grants",
    "IssueRef",
    "IssueView",
    "KubernetesSettings",
    "Launch",
    "MissedRule",
    "NetworkReach",
    "Parsed",
    "PlanRevised",
    "PreparedWorkspace",
    "ProcessExit",
    "ProcessStatus",
    "Processes",
    "PushTask",
    "PushedBranch",
    "QuestionReport",
    "RateLimited",
    "RemoteIssue",
    "RemotePost",
    "RemotePullRequest",
    "Reply",
    "Report",
    "RepositorySettings",
    "RevisionRequested",
    "Runner",
    "ScheduleTask",
    "ScheduleView",
    "SessionReport",
    "SpendingReport",
    "StartRule",
    "SuggestRouting",
    "Suggestion",
    "Task",
    "TaskBoard",
    "TaskDone",
    "TaskFailed",
    "TaskFolders",
    "TaskLeftUncertain",
    "TaskLimits",
    "TaskMatch",
    "TaskProposed",
    "TaskScheduler",
    "TaskSpec",
    "TaskStorage",
    "TaskTimeline",
    "TaskView",
    "TimelineSpan",
    "Timing",
    "TimingKind",
    "TranscriptEntry",
    "TranscriptPart",
    "Verdict",
    "WorkerMachine",
    "WorkerService",
    "WorkerSettings",
    "Workspace",
    "WorkspaceKind",
    "Workspaces",
    "check_command",
    "claim_and_verdict",
    "compare_check_files",
    "describe_check_files",
    "is_check_file",
    "is_news",
    "network_reach",
    "running_tasks",
    "script_of",
    "task_wishes",
]

__getattr__ = lazy_exports(__name__, __file__)
