"""The Job of an attempt, and what the state of a Job and its pod means.

A Job is named by task and attempt, so that whoever creates it twice finds the first. Its pod has
no token of the cluster, no privileges, a root that it cannot write, and limits.
"""

import hashlib
import re
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from everloop.workers import KubernetesSettings, Launch

Object = dict[str, Any]

APP = "everloop-worker"
TASK_LABEL = "everloop.dev/task"
ATTEMPT_LABEL = "everloop.dev/attempt"
LAUNCH = "everloop.dev/launch"  # annotation: digest of what was to be started
CANCELLED = "everloop.dev/cancelled"
SELECTOR = f"app.kubernetes.io/name={APP}"
CONTAINER = "worker"
WORKSPACE, LOGIN = "/workspace", "/var/run/everloop/login"
KEPT_S = 3_600  # how long a finished Job stays
USER_ID = 10_001
NAME_MAX = 63
EVICTED, EVICTED_UNSTARTED, LOST = "evicted", "evicted before it began", "lost"
BY_POLICY = "PodFailurePolicy"  # why a Job failed: the only rule is that for eviction
UNKNOWN = "ContainerStatusUnknown"  # what the kubelet says of a container that it cannot find
UNREPORTED = "DeletionByPodGC"  # the node is gone, and with it what it did not report
DISRUPTED = frozenset({"Evicted", "NodeLost", "NodeShutdown", "Preempting", "Terminated"})


class Ended(NamedTuple):
    """How a Job ended: `reason` as in `ProcessExit`, or evicted, or lost."""

    exit_code: int
    reason: str
    duration_s: float


def job_name(task_id: str, attempt: int) -> str:
    """The name of the Job of an attempt; always the same for the same."""
    plain = re.sub(r"[^a-z0-9-]+", "-", task_id.lower()).strip("-")
    name = f"everloop-{plain}-{attempt}"
    if plain == task_id and len(name) <= NAME_MAX:
        return name
    digest = hashlib.sha256(task_id.encode()).hexdigest()[:12]
    return f"everloop-{plain[:30].strip('-')}-{digest}-{attempt}"


def label_value(task_id: str) -> str:
    """A task's id as the value of a label."""
    fits = re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", task_id)
    return task_id if fits else hashlib.sha256(task_id.encode()).hexdigest()[:40]


def launch_digest(launch: Launch) -> str:
    """What tells one launch from another, without telling what it is."""
    return hashlib.sha256(msgspec.json.encode(launch)).hexdigest()[:40]


def job_manifest(
    task_id: str, attempt: int, launch: Launch, settings: KubernetesSettings
) -> Object:
    """The Job of an attempt. It is never tried again by the cluster: attempts are ours."""
    labels = {
        "app.kubernetes.io/name": APP,
        "app.kubernetes.io/managed-by": "everloop",
        TASK_LABEL: label_value(task_id),
        ATTEMPT_LABEL: str(attempt),
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": job_name(task_id, attempt),
            "labels": labels,
            "annotations": {LAUNCH: launch_digest(launch), TASK_LABEL: task_id},
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "activeDeadlineSeconds": launch.time_s,
            "ttlSecondsAfterFinished": KEPT_S,
            "podFailurePolicy": {"rules": [_WHEN_EVICTED]},
            "template": {"metadata": {"labels": labels}, "spec": _pod(launch, settings)},
        },
    }


# An evicted pod is soon gone. The Job then says that it was.
_WHEN_EVICTED: Object = {
    "action": "FailJob",
    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
}


def _literal(text: str) -> str:
    """A text that Kubernetes leaves as it is: else `$$` is `$`, and `$(HOME)` a variable."""
    return text.replace("$", "$$")


def _pod(launch: Launch, settings: KubernetesSettings) -> Object:
    volumes: list[Object] = [
        {"name": "workspace", "emptyDir": {"sizeLimit": settings.disk}},
        {"name": "tmp", "emptyDir": {"sizeLimit": settings.disk}},
    ]
    mounts: list[Object] = [
        {"name": "workspace", "mountPath": WORKSPACE},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - inside the pod
    ]
    if settings.login_secret:
        volumes.append({"name": "login", "secret": {"secretName": settings.login_secret}})
        mounts.append({"name": "login", "mountPath": LOGIN, "readOnly": True})
    return {
        "restartPolicy": "Never",
        "serviceAccountName": settings.service_account,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": max(1, round(launch.grace_s)),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER_ID,
            "runAsGroup": USER_ID,
            "fsGroup": USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [
            {
                "name": CONTAINER,
                "image": settings.image,
                "command": [_literal(word) for word in launch.argv],
                "workingDir": WORKSPACE,
                "env": [
                    {"name": name, "value": _literal(text)} for name, text in launch.env.items()
                ],
                "resources": {
                    "requests": {"cpu": settings.cpu_request, "memory": settings.memory_request},
                    "limits": {
                        "cpu": settings.cpu_limit,
                        "memory": settings.memory_limit,
                        "ephemeral-storage": settings.disk,
                    },
                },
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "readOnlyRootFilesystem": True,
                    "capabilities": {"drop": ["ALL"]},
                },
                "volumeMounts": mounts,
            }
        ],
        "volumes": volumes,
    }


def how_it_ended(job: Object, pod: Object | None) -> Ended | None:
    """How a Job ended, or None while it goes on. The pod: as it is, or as it was last seen."""
    conditions = {one["type"]: one for one in _true(job)}
    if "Complete" not in conditions and "Failed" not in conditions:
        return None
    duration_s = _duration_s(job)
    if "Complete" in conditions:
        return Ended(0, "exited", duration_s)
    if job["metadata"].get("annotations", {}).get(CANCELLED) == "true":
        return Ended(143, "cancelled", duration_s)
    reason = conditions["Failed"].get("reason")
    if reason == "DeadlineExceeded":
        return Ended(143, "timeout", duration_s)
    if pod is None:
        return Ended(-1, EVICTED if reason == BY_POLICY else LOST, duration_s)
    return _end_of_pod(pod, duration_s)


def is_terminal(pod: Object) -> bool:
    """Whether a pod runs no more."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def has_logs(pod: Object) -> bool:
    """Whether the container of a pod has begun."""
    return is_terminal(pod) or pod.get("status", {}).get("phase") == "Running"


def has_begun(pod: Object) -> bool:
    """Whether there ever was a container, by what the kubelet told of it."""
    known = pod.get("status", {}).get("containerStatuses") or ()
    return any(one.get("containerID") or one.get("state", {}).get("running") for one in known)


def _end_of_pod(pod: Object, duration_s: float) -> Ended:
    status = pod.get("status", {})
    why = [one.get("reason") for one in _true(pod) if one["type"] == "DisruptionTarget"]
    if why or status.get("reason") in DISRUPTED:
        begun = has_begun(pod) or UNREPORTED in why
        return Ended(-1, EVICTED if begun else EVICTED_UNSTARTED, duration_s)
    states = [one.get("state", {}) for one in status.get("containerStatuses") or ()]
    terminated = next((one["terminated"] for one in states if one.get("terminated")), None)
    if terminated is None or terminated.get("reason") == UNKNOWN:
        return Ended(-1, LOST, duration_s)
    if terminated.get("reason") == "OOMKilled":
        return Ended(137, "it used more memory than workers.kubernetes.memory_limit", duration_s)
    return Ended(terminated["exitCode"], "exited", duration_s)


def _true(found: Object) -> list[Object]:
    conditions = found.get("status", {}).get("conditions") or ()
    return [one for one in conditions if one["status"] == "True"]


def _duration_s(job: Object) -> float:
    status = job.get("status", {})
    ends = [one.get("lastTransitionTime") for one in _true(job)]
    began, ended = status.get("startTime"), status.get("completionTime") or (ends or [None])[0]
    if not began or not ended:
        return 0.0
    times = [datetime.fromisoformat(text) for text in (began, ended)]
    return max(0.0, (times[1] - times[0]).total_seconds())
