"""The processes of attempts as Kubernetes Jobs, for the task scheduler.

Nothing is kept here that the cluster does not know: the node that holds the scheduler's claim
follows every Job, and when it dies, the next one finds them by their names and goes on. Results are
fetched, not sent: a worker's pod needs no way to us.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import hashlib
import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import ConnectTimeoutError, HTTPError, MaxRetryError, NewConnectionError

from everloop.adapters.kubernetes.informer import Informer
from everloop.adapters.kubernetes.manifest import (
    ATTEMPT_LABEL,
    CANCELLED,
    CONTAINER,
    LAUNCH,
    TASK_LABEL,
    Object,
    has_logs,
    how_it_ended,
    is_terminal,
    job_manifest,
    job_name,
    launch_digest,
)
from everloop.adapters.kubernetes.pod_log import PodLog
from everloop.adapters.processes.supervisor import read_output
from everloop.errors import Invalid, RunnerFailed
from everloop.workers import KubernetesSettings, Launch, ProcessExit, ProcessStatus

CONFLICT, MISSING, SERVER_ERROR = 409, 404, 500
WRONG = (400, 422)  # trying again would not help
MESSAGE_MAX = 500
CALL_TIMEOUT_S = 10.0
OUTPUT_BYTES_MAX = 1_048_576
GOING_ON = ProcessStatus(alive=True, begun=True)


class KubernetesJobs:
    """Starts, finds and ends Jobs in one namespace."""

    def __init__(self, folder: Path, settings: KubernetesSettings) -> None:
        self._root, self._settings = folder, settings
        self._lock = threading.Lock()
        self._logs: dict[str, PodLog] = {}
        self._api: client.ApiClient | None = None
        self._mirrors: tuple[Informer, Informer] | None = None

    @property
    def host(self) -> str:
        """The cluster, which is the same for every node."""
        return f"kubernetes:{self._settings.namespace}"

    def folder(self, task_id: str, attempt: int) -> Path:
        """Where this node keeps the log of an attempt."""
        return self._root / task_id / str(attempt)

    def alive(self) -> list[tuple[str, int]]:
        """The attempts whose Job goes on."""
        jobs, _ = self._connect()
        jobs.synced.wait(CALL_TIMEOUT_S)
        found = [one for one in jobs.all() if how_it_ended(one, None) is None]
        return [_attempt_of(one) for one in found]

    def start(self, folder: Path, launch: Launch) -> None:
        """Create the Job of an attempt, or adopt the one that is there.

        Raises:
            Invalid: the cluster finds the Job wrong.
            RunnerFailed: the cluster refuses, or cannot be reached.
        """
        task_id, attempt = folder.parent.name, int(folder.name)
        manifest = job_manifest(task_id, attempt, launch, self._settings)
        jobs, _ = self._connect()
        try:
            created = self._batch.create_namespaced_job(
                self._settings.namespace, cast("Any", manifest), _request_timeout=CALL_TIMEOUT_S
            )
        except ApiException as problem:
            if problem.status == CONFLICT:
                self._adopt(manifest, launch)
            elif not (_may_have_happened(problem) and self._is_there(manifest, launch)):
                raise _refused(problem) from problem
        except (HTTPError, OSError) as problem:
            if not (_may_have_happened(problem) and self._is_there(manifest, launch)):
                raise _unreachable(problem) from problem
        else:
            jobs.put(self._plain(created))

    def status(self, folder: Path) -> ProcessStatus:
        """What the cluster says of a Job. While it says nothing, the Job goes on."""
        jobs, pods = self._connect()
        if not (jobs.synced.is_set() and pods.synced.is_set()):
            return GOING_ON
        name = job_name(folder.parent.name, int(folder.name))
        job = jobs.get(name)
        if job is None:
            try:
                job = self._read(name)
            except RunnerFailed:
                return GOING_ON
            if job is None:
                return ProcessStatus(alive=False, begun=True)
        try:
            pod = self._newest_pod(job)
        except (ApiException, HTTPError, OSError):
            return GOING_ON
        log = self._follow(name, folder, pod)
        ended = how_it_ended(job, pod or self._gone_pod(job))
        late = pod is not None and not is_terminal(pod)  # it still writes its last words
        if ended is None or late or (log is not None and not log.complete.is_set()):
            return GOING_ON
        output = self.read(folder, 0, OUTPUT_BYTES_MAX)
        digest = hashlib.sha256(output).hexdigest()
        size = len(output)
        exit_ = ProcessExit(ended.exit_code, ended.reason, digest, size, ended.duration_s)
        return ProcessStatus(alive=False, begun=True, exit=exit_)

    def read(self, folder: Path, offset: int, limit: int) -> bytes:
        """Output from an offset on, as far as it was fetched."""
        return read_output(folder, offset, limit)

    def send(self, folder: Path, line: bytes) -> None:
        """Nothing: a Job reads no messages."""

    def terminate(self, folder: Path) -> None:
        """Put a Job's deadline into the past, which ends its pod; the Job is marked as cancelled.

        It then counts as finished, and is removed like others; a suspended one would stay.
        """
        name = job_name(folder.parent.name, int(folder.name))
        job = self._connect()[0].get(name)
        if job is None or job["metadata"].get("annotations", {}).get(CANCELLED):
            return
        marked = {"annotations": {CANCELLED: "true"}}
        change = {"metadata": marked, "spec": {"activeDeadlineSeconds": 0}}
        with suppress(ApiException, HTTPError, OSError):  # the next tick asks again
            patched = self._batch.patch_namespaced_job(
                name, self._settings.namespace, change, _request_timeout=CALL_TIMEOUT_S
            )
            self._connect()[0].put(self._plain(patched))

    def sweep(self, folder: Path) -> None:
        """Follow the log no more; the cluster ends and removes what belongs to a Job."""
        log = self._logs.pop(job_name(folder.parent.name, int(folder.name)), None)
        if log is not None:
            log.stop()

    def close(self) -> None:
        """Watch and follow no more."""
        for one in (*(self._mirrors or ()), *self._logs.values()):
            one.stop()

    def _connect(self) -> tuple[Informer, Informer]:
        with self._lock:
            if self._mirrors is None:
                self._api = _client(self._settings.kubeconfig)
                space = self._settings.namespace
                jobs = Informer(self._batch.list_namespaced_job, space)
                pods = Informer(self._core.list_namespaced_pod, space)
                self._mirrors = (jobs, pods)
                for one in self._mirrors:
                    one.start()
            return self._mirrors

    @property
    def _batch(self) -> client.BatchV1Api:
        return client.BatchV1Api(self._api)

    @property
    def _core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self._api)

    def _plain(self, found: Any) -> Object:
        api: Any = self._api
        plain: Object = api.sanitize_for_serialization(found)
        return plain

    def _read(self, name: str) -> Object | None:
        """The Job with a name, asked for just now."""
        try:
            found = self._batch.read_namespaced_job(
                name, self._settings.namespace, _request_timeout=CALL_TIMEOUT_S
            )
        except ApiException as problem:
            if problem.status == MISSING:
                return None
            raise _refused(problem) from problem
        except (HTTPError, OSError) as problem:
            raise _unreachable(problem) from problem
        job = self._plain(found)
        self._connect()[0].put(job)
        return job

    def _is_there(self, manifest: Object, launch: Launch) -> bool:
        """Whether a Job exists whose creation was not answered. When in doubt, it does.

        Then `status` finds it later, or the attempt is uncertain, and no second Job is created.
        """
        try:
            found = self._read(manifest["metadata"]["name"])
        except RunnerFailed:
            return True
        if found is not None:
            self._adopt(manifest, launch)
        return found is not None

    def _adopt(self, manifest: Object, launch: Launch) -> None:
        """Take over the Job of the same name, if it is of the same attempt and does the same."""
        name = manifest["metadata"]["name"]
        found = self._read(name)
        known = found["metadata"].get("annotations", {}) if found else {}
        if known.get(LAUNCH) != launch_digest(launch):
            raise RunnerFailed(
                f"there is another Job {name!r} in {self._settings.namespace!r}",
                hint="Remove it: kubectl delete job NAME.",
            )

    def _pod(self, job: Object) -> Object | None:
        return _pod_of(job, self._connect()[1].all())

    def _gone_pod(self, job: Object) -> Object | None:
        """The last state of a pod that is there no more."""
        return _pod_of(job, self._connect()[1].gone())

    def _newest_pod(self, job: Object) -> Object | None:
        """The pod of a Job. Of one that ended, the watch may not have told everything yet."""
        pod = self._pod(job)
        if how_it_ended(job, None) is None or (pod is not None and is_terminal(pod)):
            return pod
        self._connect()[1].refresh()
        return self._pod(job)

    def _follow(self, name: str, folder: Path, pod: Object | None) -> PodLog | None:
        if name not in self._logs and pod is not None and has_logs(pod):
            pod_name = pod["metadata"]["name"]

            def open_log() -> Any:
                return self._core.read_namespaced_pod_log(
                    pod_name,
                    self._settings.namespace,
                    container=CONTAINER,
                    follow=True,
                    _preload_content=False,
                )

            def is_over() -> bool:
                now = self._connect()[1].get(pod_name)
                return now is None or is_terminal(now)

            log = PodLog(folder / "output", open_log, is_over, OUTPUT_BYTES_MAX)
            self._logs[name] = log
            log.start()
        return self._logs.get(name)


def _pod_of(job: Object, pods: list[Object]) -> Object | None:
    labels = job["metadata"]["labels"]
    wanted = (labels.get(TASK_LABEL), labels.get(ATTEMPT_LABEL))
    for pod in pods:
        found = pod["metadata"].get("labels", {})
        if (found.get(TASK_LABEL), found.get(ATTEMPT_LABEL)) == wanted:
            return pod
    return None


def _attempt_of(job: Object) -> tuple[str, int]:
    about = job["metadata"]
    task_id = about.get("annotations", {}).get(TASK_LABEL) or about["labels"][TASK_LABEL]
    return task_id, int(about["labels"][ATTEMPT_LABEL])


def _client(kubeconfig: str) -> client.ApiClient:
    loading: Any = config
    try:
        if kubeconfig:
            path = str(Path(kubeconfig).expanduser())
            return cast("client.ApiClient", loading.new_client_from_config(path))
        chosen = client.Configuration()
        loading.load_incluster_config(chosen)
        return client.ApiClient(chosen)
    except (ConfigException, OSError) as problem:
        raise RunnerFailed(
            f"there is no way to the cluster: {problem}",
            hint="Set workers.kubernetes.kubeconfig, or run Everloop in the cluster.",
        ) from problem


def _may_have_happened(problem: Exception) -> bool:
    """Whether a request may have been carried out although it failed."""
    if isinstance(problem, ApiException):
        return bool(problem.status and problem.status >= SERVER_ERROR)
    reason = problem.reason if isinstance(problem, MaxRetryError) else problem
    return not isinstance(reason, (NewConnectionError, ConnectTimeoutError))


def _refused(problem: ApiException) -> Invalid | RunnerFailed:
    said = f"the cluster refuses ({problem.status} {problem.reason}): {_message(problem)}"
    if problem.status in WRONG:
        return Invalid(said, hint="Change the setting in [workers.kubernetes] that it names.")
    return RunnerFailed(
        said,
        hint="Check the quota of the namespace, and the rights of Everloop's service account;"
        " docs/kubernetes.md lists them.",
    )


def _message(problem: ApiException) -> str:
    """What the API server says about it."""
    try:
        found = json.loads(problem.body or "{}")
    except ValueError:
        return "no reason given"
    said = found.get("message") if isinstance(found, dict) else None
    return str(said or "no reason given")[:MESSAGE_MAX]


def _unreachable(problem: Exception) -> RunnerFailed:
    return RunnerFailed(
        f"the cluster cannot be reached ({type(problem).__name__})",
        hint="Check the network policy and the address of the API server.",
    )
