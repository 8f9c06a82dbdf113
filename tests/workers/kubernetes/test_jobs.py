"""Tasks as Kubernetes Jobs: by the official client, over HTTP, against a cluster on loopback."""

import importlib
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.workers.kubernetes.cluster import Cluster, expanded, running_cluster
from tests.workers.kubernetes.cluster_node import WAIT_S, Node, killed_node, open_node

from everloop.adapters.kubernetes.manifest import how_it_ended, job_manifest, job_name
from everloop.app import USER
from everloop.errors import RunnerFailed
from everloop.workers import KubernetesSettings, Launch, Workspace

kubernetes_validate: Any = importlib.import_module("kubernetes_validate")
LAUNCH = Launch(("true",), "/workspace", {"A": "b"}, 600, 10_000)


def _settings(cluster: tuple[Cluster, Path]) -> KubernetesSettings:
    return KubernetesSettings(namespace="workers", kubeconfig=str(cluster[1]))


@pytest.fixture
def cluster(tmp_path: Path) -> Generator[tuple[Cluster, Path]]:
    """A cluster and its kubeconfig."""
    with running_cluster(tmp_path) as found:
        yield found


@pytest.fixture
def work(cluster: tuple[Cluster, Path], tmp_path: Path) -> Generator[Node]:
    """A node of that cluster."""
    with open_node(tmp_path / "home", _settings(cluster)) as one:
        yield one


@pytest.mark.promise("P-REACH-8")
def test_a_job_runs_a_command_and_its_output_and_end_are_recorded(
    work: Node, cluster: tuple[Cluster, Path]
) -> None:
    name = work.start("echo one; echo two")
    done = work.until_state(name, "done", "failed", "uncertain")
    assert (done.state, done.attempts, work.shown(name)) == ("done", 1, "one\ntwo\n")
    assert cluster[0].created == [job_name(name, 1)]


def test_a_failing_command_is_a_failure_with_the_end_of_its_output(work: Node) -> None:
    name = work.start("echo no room; exit 3")
    assert work.until_state(name, "failed").reason == "Exit code 3.\nno room"


@pytest.mark.promise("P-REACH-8")
def test_the_next_node_adopts_the_job_of_one_that_was_killed(
    cluster: tuple[Cluster, Path], tmp_path: Path
) -> None:
    """The result arrives once, and the log has neither gap nor repeat."""
    home, go = tmp_path / "home", tmp_path / "go"
    lines = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"
    wait = f"while [ ! -e {go} ]; do sleep 0.02; done"
    with open_node(home, _settings(cluster), "second-node") as second:
        name = second.start(f"{lines}; {wait}; {lines}; echo end")
        with killed_node(home, _settings(cluster)):
            deadline = time.monotonic() + WAIT_S
            while "line 2999" not in second.shown(name):
                assert time.monotonic() < deadline
                time.sleep(0.02)
        go.touch()
        second.until_state(name, "done", "failed", "uncertain")
        expected = "".join(f"line {i}\n" for i in range(3000))
        assert second.shown(name) == f"{expected}{expected}end\n"
        assert (second.task(name).state, second.ends(name)) == ("done", 1)
        assert cluster[0].created == [job_name(name, 1)]


@pytest.mark.promise("P-REACH-8")
def test_a_job_that_is_there_already_is_adopted(work: Node, cluster: tuple[Cluster, Path]) -> None:
    folder = work.jobs.folder("tsk-1", 1)
    work.jobs.start(folder, LAUNCH)
    work.jobs.start(folder, LAUNCH)
    assert cluster[0].created == ["everloop-tsk-1-1"]
    other = msgspec.structs.replace(LAUNCH, argv=("false",))
    with pytest.raises(RunnerFailed, match="another Job"):
        work.jobs.start(folder, other)


@pytest.mark.promise("P-REACH-8")
def test_a_job_whose_creation_was_not_answered_is_not_created_twice(
    work: Node, cluster: tuple[Cluster, Path]
) -> None:
    cluster[0].losing = True
    name = work.start("echo once")
    done = work.until_ended(name)
    assert (done.state, done.attempts, work.shown(name)) == ("done", 1, "once\n")
    assert cluster[0].created == [job_name(name, 1)]


def test_a_command_is_not_changed_on_its_way(work: Node) -> None:
    """The kubelet reads `$$` as `$`, and `$(HOME)` as the value of that variable."""
    assert expanded("$$ $(A) $(b) $$(A) $A", {"A": "a"}) == "$ a $(b) $(A) $A"
    name = work.start("printf '%s ' '$$' '$(HOME)' '$$(HOME)' '$HOME'")
    work.until_ended(name)
    assert work.shown(name) == "$$ $(HOME) $$(HOME) $HOME "


@pytest.mark.promise("P-REACH-8")
def test_an_evicted_pod_is_uncertain_and_not_a_failure(
    work: Node, cluster: tuple[Cluster, Path]
) -> None:
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    cluster[0].evict(job_name(name, 1))
    task = work.until_state(name, "uncertain", "failed", "done")
    assert (task.state, "evicted" in task.reason, task.attempts) == ("uncertain", True, 1)


def test_a_pod_that_was_evicted_before_it_began_is_tried_again(
    work: Node, cluster: tuple[Cluster, Path]
) -> None:
    cluster[0].hold = True
    name = work.start("echo hello")
    work.until(lambda: len(cluster[0].created) == 1)
    cluster[0].hold = False
    cluster[0].evict(job_name(name, 1), begun=False)
    done = work.until_state(name, "done", "failed", "uncertain")
    assert (done.state, done.attempts) == ("done", 2)


def test_a_job_over_its_deadline_says_so(work: Node, cluster: tuple[Cluster, Path]) -> None:
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    cluster[0].exceed_deadline(job_name(name, 1))
    assert "It took longer than 3600 s." in work.until_state(name, "failed").reason


def test_cancelling_ends_the_pod_also_after_another_node_took_over(
    work: Node, cluster: tuple[Cluster, Path]
) -> None:
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    work.engine.workers.cancel(name, USER)
    work.scheduler.tick()
    work.jobs.close()
    work.take_over("another-node")
    assert work.until_state(name, "cancelled", "uncertain", "failed").state == "cancelled"
    assert cluster[0].processes[f"{job_name(name, 1)}-x7x7x"].wait(WAIT_S)


def test_while_the_cluster_does_not_answer_a_job_goes_on(
    work: Node, cluster: tuple[Cluster, Path], tmp_path: Path
) -> None:
    go = tmp_path / "go"
    name = work.start(f"echo begun; while [ ! -e {go} ]; do sleep 0.02; done; echo end")
    work.until(lambda: "begun" in work.shown(name))
    work.jobs.close()
    work.take_over("another-node")
    cluster[0].refusing = True
    go.touch()
    for _ in range(5):
        work.scheduler.tick()
    assert work.task(name).state == "running"
    cluster[0].refusing = False
    assert work.until_state(name, "done", "uncertain", "failed").state == "done"
    assert work.shown(name) == "begun\nend\n"


def test_a_job_that_somebody_deleted_is_uncertain(
    work: Node, cluster: tuple[Cluster, Path]
) -> None:
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    known = cluster[0].objects["jobs"][job_name(name, 1)]
    cluster[0].put("jobs", known, "DELETED")
    assert work.until_state(name, "uncertain", "failed", "done").state == "uncertain"


def test_a_task_that_needs_a_workspace_of_this_machine_is_refused(
    work: Node, cluster: tuple[Cluster, Path], tmp_path: Path
) -> None:
    name = work.start("true", workspace=Workspace("folder", str(tmp_path)))
    assert "clone what it needs" in work.until_state(name, "failed").reason
    assert cluster[0].created == []


@pytest.mark.promise("P-REACH-8")
def test_kubernetes_accepts_the_job_and_its_pod_has_no_more_than_it_needs() -> None:
    settings = KubernetesSettings(namespace="workers", login_secret="login")  # noqa: S106 - a name
    job = job_manifest("tsk-1", 2, LAUNCH, settings)
    kubernetes_validate.validate(job, "1.32", strict=True)
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 600)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert set(container["resources"]["limits"]) == {"cpu", "memory", "ephemeral-storage"}
    assert job["metadata"]["labels"]["everloop.dev/task"] == "tsk-1"


@pytest.mark.parametrize("task_id", ["tsk-1", "Tsk_1", "x" * 80, "-", "ä"])
def test_every_task_has_a_valid_name_of_its_own(task_id: str) -> None:
    job = job_manifest(task_id, 1, LAUNCH, KubernetesSettings(namespace="workers"))
    kubernetes_validate.validate(job, "1.32", strict=True)
    name = job["metadata"]["name"]
    assert len(name) <= 63
    assert name.strip("-") == name
    assert job_name(task_id, 2) != name != job_name(f"{task_id}x", 1)


def _failed(reason: str = "BackoffLimitExceeded") -> Any:
    conditions = [{"type": "Failed", "status": "True", "reason": reason}]
    return {"metadata": {}, "status": {"conditions": conditions}}


def _pod(container: Any, *conditions: Any) -> Any:
    known = {"containerStatuses": [container], "conditions": list(conditions)}
    return {"status": {"phase": "Failed"} | known}


def test_a_container_that_used_too_much_memory_names_the_setting() -> None:
    state = {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}
    ended = how_it_ended(_failed(), _pod({"state": state}))
    assert ended is not None
    assert "workers.kubernetes.memory_limit" in ended.reason


@pytest.mark.parametrize(
    ("why", "container_id", "reason"),
    [
        ("EvictionByEvictionAPI", "test://1", "evicted"),
        ("EvictionByEvictionAPI", "", "evicted before it began"),
        ("DeletionByPodGC", "", "evicted"),  # the node is gone, and may not have told everything
        ("", "test://1", "lost"),
    ],
)
def test_a_container_that_the_kubelet_cannot_find_began_if_it_had_an_id(
    why: str, container_id: str, reason: str
) -> None:
    state = {"terminated": {"exitCode": 137, "reason": "ContainerStatusUnknown"}}
    target = {"type": "DisruptionTarget", "status": "True", "reason": why}
    pod = _pod({"state": state, "containerID": container_id}, *([target] if why else []))
    ended = how_it_ended(_failed(), pod)
    assert ended is not None
    assert ended.reason == reason


def test_of_a_pod_that_is_gone_the_job_says_whether_it_was_evicted() -> None:
    known = [
        how_it_ended(_failed(why), None) for why in ("PodFailurePolicy", "BackoffLimitExceeded")
    ]
    assert [one and one.reason for one in known] == ["evicted", "lost"]
