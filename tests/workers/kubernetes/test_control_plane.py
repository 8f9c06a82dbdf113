"""Tasks as Kubernetes Jobs, against the real API server, store and controllers of Kubernetes.

Everloop has the rights that `deploy/kubernetes/workers` gives to its account, and no others. Only
the node is played. Skipped where the programs are missing: `make kube` builds them.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import itertools
import json
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

import msgspec
import pytest
import yaml
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic import DynamicClient
from tests.workers.kubernetes.cluster_node import WAIT_S, Node, killed_node, open_node
from tests.workers.kubernetes.control_plane import MISSING, ControlPlane, control_plane
from tests.workers.kubernetes.played_node import PlayedNode, played_node

from everloop.adapters.kubernetes.manifest import job_manifest, job_name
from everloop.app import USER
from everloop.errors import Invalid, RunnerFailed
from everloop.workers import KubernetesSettings, Launch, TaskLimits

pytestmark = [
    pytest.mark.skipif(bool(MISSING), reason=f"not built: {', '.join(MISSING)} (make kube)"),
    pytest.mark.xdist_group("kube"),
]
DEPLOY = Path(__file__).parents[3] / "deploy/kubernetes"
LAUNCH = Launch(("true",), "/workspace", {"A": "b"}, 600, 10_000)
KUBECTL = shutil.which("kubectl")
NUMBERS = itertools.count(1)
Object = dict[str, Any]
dynamic_client: Any = DynamicClient


class Cluster(NamedTuple):
    """A control plane with a node, as its administrator sees it."""

    plane: ControlPlane
    node: PlayedNode
    admin: client.ApiClient

    @property
    def core(self) -> client.CoreV1Api:
        return client.CoreV1Api(self.admin)

    @property
    def batch(self) -> client.BatchV1Api:
        return client.BatchV1Api(self.admin)

    def apply(self, manifest: Object, **more: Any) -> Any:
        """Apply a manifest on the server's side, as `kubectl apply --server-side` does."""
        known = dynamic_client(self.admin)
        kind = known.resources.get(api_version=manifest["apiVersion"], kind=manifest["kind"])
        about = manifest["metadata"]
        return known.server_side_apply(
            kind,
            manifest,
            name=about["name"],
            namespace=about.get("namespace"),
            field_manager="tests",
            **more,
        )

    def jobs(self, space: str) -> list[Object]:
        """The Jobs of a namespace, as they are sent."""
        found: Any = self.batch.list_namespaced_job(space, _preload_content=False)
        listed: list[Object] = json.loads(found.data)["items"]
        return listed

    def pods(self, space: str) -> list[Object]:
        """The pods of a namespace, as they are sent."""
        found: Any = self.core.list_namespaced_pod(space, _preload_content=False)
        listed: list[Object] = json.loads(found.data)["items"]
        return listed

    def evict(self, space: str) -> None:
        """Drain the node: evict the only pod of a namespace."""
        (pod,) = self.pods(space)
        about: Any = {"metadata": {"name": pod["metadata"]["name"]}}
        self.core.create_namespaced_pod_eviction(
            pod["metadata"]["name"], space, about, _preload_content=False
        )


def _manifests(name: str, space: str = "") -> Iterator[Object]:
    """What kustomize builds from a folder; with another namespace in the place of its own."""
    (listing,) = yaml.safe_load_all((DEPLOY / name / "kustomization.yaml").read_text())
    for resource in listing["resources"]:
        for one in yaml.safe_load_all((DEPLOY / name / resource).read_text()):
            chosen = space or listing["namespace"]
            about = {"name": chosen} if one["kind"] == "Namespace" else {"namespace": chosen}
            yield one | {"metadata": one["metadata"] | about}


def _until(met: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not met():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cluster]:
    """A control plane with everything of `deploy/kubernetes/cluster` applied."""
    with control_plane(tmp_path_factory.mktemp("kube")) as plane, played_node(plane) as node:
        found = Cluster(plane, node, plane.admin)
        for manifest in _manifests("cluster"):
            found.apply(manifest)
        yield found


@pytest.fixture
def chosen(cluster: Cluster) -> KubernetesSettings:
    """A new namespace as `deploy/kubernetes/workers` makes it, and Everloop's own way to it."""
    space = f"workers-{next(NUMBERS)}"
    for manifest in _manifests("workers", space):
        cluster.apply(manifest)
    quota: Any = cluster.core.read_namespaced_resource_quota
    _until(lambda: bool(quota("workers", space).status.hard))
    return KubernetesSettings(namespace=space, kubeconfig=str(_account(cluster)))


def _account(cluster: Cluster, name: str = "everloop", space: str = "everloop") -> Path:
    body: Any = {"spec": {"expirationSeconds": 3600}}
    made: Any = cluster.core.create_namespaced_service_account_token(name, space, body)
    return cluster.plane.kubeconfig(f"{name}.{space}", made.status.token)


@pytest.fixture
def work(chosen: KubernetesSettings, tmp_path: Path) -> Generator[Node]:
    """A node of Everloop."""
    with open_node(tmp_path / "home", chosen) as one:
        yield one


@pytest.mark.promise("P-REACH-8")
def test_a_job_runs_a_command_and_its_output_and_end_are_recorded(
    work: Node, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    name = work.start("echo one; echo two")
    done = work.until_ended(name)
    assert (done.state, done.attempts, work.shown(name)) == ("done", 1, "one\ntwo\n")
    (job,) = cluster.jobs(chosen.namespace)
    assert job["metadata"]["name"] == job_name(name, 1)
    assert job["metadata"]["labels"]["everloop.dev/task"] == name
    assert job["spec"]["activeDeadlineSeconds"] == 3600
    (pod,) = cluster.pods(chosen.namespace)
    assert pod["spec"]["serviceAccountName"] == "everloop-worker"
    assert {one["name"] for one in pod["spec"]["volumes"]} == {"workspace", "tmp"}  # and no token


def test_a_failing_command_is_a_failure_with_the_end_of_its_output(work: Node) -> None:
    name = work.start("echo no room; exit 3")
    assert work.until_ended(name).reason == "Exit code 3.\nno room"


@pytest.mark.promise("P-REACH-8")
def test_the_next_node_adopts_the_job_of_one_that_was_killed(
    cluster: Cluster, chosen: KubernetesSettings, tmp_path: Path
) -> None:
    home, go = tmp_path / "home", tmp_path / "go"
    lines = "i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done"
    with open_node(home, chosen, "second-node") as second:
        wait = f"while [ ! -e {go} ]; do sleep 0.02; done"
        name = second.start(f"{lines}; {wait}; {lines}; echo end")
        with killed_node(home, chosen):
            _until(lambda: "line 2999" in second.shown(name))
        go.touch()
        done = second.until_ended(name)
        expected = "".join(f"line {i}\n" for i in range(3000))
        assert second.shown(name) == f"{expected}{expected}end\n"
        assert (done.state, second.ends(name)) == ("done", 1)
    assert len(cluster.jobs(chosen.namespace)) == 1


@pytest.mark.promise("P-REACH-8")
def test_a_job_that_is_there_already_is_adopted(
    work: Node, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    folder = work.jobs.folder("tsk-1", 1)
    work.jobs.start(folder, LAUNCH)
    work.jobs.start(folder, LAUNCH)
    assert [one["metadata"]["name"] for one in cluster.jobs(chosen.namespace)] == [
        "everloop-tsk-1-1"
    ]
    other = msgspec.structs.replace(LAUNCH, argv=("false",))
    with pytest.raises(RunnerFailed, match="another Job"):
        work.jobs.start(folder, other)


@pytest.mark.promise("P-REACH-8")
def test_an_evicted_pod_is_uncertain_and_not_a_failure(
    work: Node, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    cluster.evict(chosen.namespace)
    task = work.until_ended(name)
    assert (task.state, "evicted" in task.reason, task.attempts) == ("uncertain", True, 1)


def test_an_eviction_is_known_to_a_node_that_did_not_see_the_pod(
    work: Node, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    """The pod is gone by then; the Job says why."""
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    work.jobs.close()
    cluster.evict(chosen.namespace)
    _until(lambda: not cluster.pods(chosen.namespace))
    work.take_over("another-node")
    task = work.until_ended(name)
    assert (task.state, "evicted" in task.reason, task.attempts) == ("uncertain", True, 1)


def test_a_pod_that_was_evicted_before_it_began_is_tried_again(
    work: Node, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    cluster.node.hold = True
    name = work.start("echo hello")
    try:
        work.until(lambda: any("nodeName" in p["spec"] for p in cluster.pods(chosen.namespace)))
        cluster.evict(chosen.namespace)
        work.until(lambda: work.ends(name) == 1)
    finally:
        cluster.node.hold = False
    done = work.until_ended(name)
    assert (done.state, done.attempts, work.shown(name)) == ("done", 2, "hello\n")


def test_a_job_over_its_deadline_says_so(work: Node) -> None:
    name = work.start("echo begun; sleep 600", limits=TaskLimits(time_s=2))
    task = work.until_ended(name)
    assert (task.state, work.shown(name)) == ("failed", "begun\n")
    assert "It took longer than 2 s." in task.reason


def test_a_cancelled_job_ends_its_pod_and_is_removed_like_any_other(
    work: Node, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    """Also after another node took over. A Job that never finishes would use up the quota."""
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    work.engine.workers.cancel(name, USER)
    work.scheduler.tick()
    work.jobs.close()
    work.take_over("another-node")
    assert work.until_ended(name).state == "cancelled"
    _until(lambda: not cluster.pods(chosen.namespace))
    job = job_name(name, 1)
    change = {"spec": {"ttlSecondsAfterFinished": 0}}
    cluster.batch.patch_namespaced_job(job, chosen.namespace, change)
    _until(lambda: not cluster.jobs(chosen.namespace))


def test_while_the_api_server_is_down_a_job_goes_on(
    work: Node, cluster: Cluster, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    name = work.start(f"echo begun; while [ ! -e {go} ]; do sleep 0.02; done; echo end")
    work.until(lambda: "begun" in work.shown(name))
    cluster.plane.kill_api_server()
    go.touch()
    for _ in range(5):
        work.scheduler.tick()
    assert work.task(name).state == "running"
    cluster.plane.start_api_server()
    assert work.until_ended(name).state == "done"
    assert work.shown(name) == "begun\nend\n"


def test_a_job_that_somebody_deleted_is_uncertain(
    work: Node, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    name = work.start("echo begun; sleep 600")
    work.until(lambda: "begun" in work.shown(name))
    job = job_name(name, 1)
    cluster.batch.delete_namespaced_job(job, chosen.namespace, propagation_policy="Background")
    assert work.until_ended(name).state == "uncertain"


def test_a_command_is_not_changed_on_its_way(work: Node) -> None:
    """The kubelet reads `$$` as `$`, and `$(HOME)` as the value of that variable."""
    name = work.start("printf '%s\\n' '$$' '$(HOME)' '$$(HOME)' '$HOME'")
    work.until_ended(name)
    assert work.shown(name) == "$$\n$(HOME)\n$$(HOME)\n$HOME\n"


def test_what_the_cluster_refuses_is_told_in_its_own_words(
    chosen: KubernetesSettings, tmp_path: Path
) -> None:
    wrong = msgspec.structs.replace(chosen, cpu_request="3", cpu_limit="2")
    with (
        open_node(tmp_path / "home", wrong) as work,
        pytest.raises(Invalid, match="must be less than or equal to cpu limit"),
    ):
        work.jobs.start(work.jobs.folder("tsk-1", 1), LAUNCH)


def test_a_used_up_quota_is_named(work: Node, cluster: Cluster, chosen: KubernetesSettings) -> None:
    change = {"spec": {"hard": {"count/jobs.batch": "0"}}}
    cluster.core.patch_namespaced_resource_quota("workers", chosen.namespace, change)
    quota: Any = cluster.core.read_namespaced_resource_quota
    _until(lambda: quota("workers", chosen.namespace).status.hard["count/jobs.batch"] == "0")
    with pytest.raises(RunnerFailed, match="exceeded quota: workers"):
        work.jobs.start(work.jobs.folder("tsk-1", 1), LAUNCH)


@pytest.mark.parametrize("task_id", ["tsk-1", "Tsk_1", "x" * 80, "-", "ä"])
def test_the_api_server_accepts_the_job_of_every_task(
    task_id: str, cluster: Cluster, chosen: KubernetesSettings
) -> None:
    wanted = msgspec.structs.replace(chosen, login_secret="login")  # noqa: S106 - a name
    job: Any = job_manifest(task_id, 12, LAUNCH, wanted)
    made: Any = cluster.batch.create_namespaced_job(
        chosen.namespace, job, dry_run="All", field_validation="Strict"
    )
    assert made.metadata.name == job_name(task_id, 12)


@pytest.mark.promise("P-REACH-8")
def test_everloop_may_do_what_its_runner_needs_and_nothing_else(
    chosen: KubernetesSettings,
) -> None:
    api: Any = client.AuthorizationV1Api(_client_of(chosen.kubeconfig))
    body = {"spec": {"namespace": chosen.namespace}}
    everything = {"jobs": ["create", "get", "list", "patch", "watch"]}
    everything |= {"pods": ["list", "watch"], "pods/log": ["get"]}
    found = api.create_self_subject_rules_review(body).status.resource_rules
    found = [one for one in found if not one.api_groups[0].endswith(".k8s.io")]  # of everybody
    assert {one.resources[0]: sorted(one.verbs) for one in found} == everything
    assert all(len(one.resources) == 1 for one in found)
    for space in ("everloop", "kube-system"):
        body = {"spec": {"namespace": space}}
        found = api.create_self_subject_rules_review(body).status.resource_rules
        assert all(one.api_groups[0].endswith(".k8s.io") for one in found)


@pytest.mark.promise("P-REACH-8")
def test_the_account_of_workers_may_do_nothing(
    cluster: Cluster, chosen: KubernetesSettings
) -> None:
    core = client.CoreV1Api(_client_of(_account(cluster, "everloop-worker", chosen.namespace)))
    for call in (core.list_namespaced_pod, core.list_namespaced_secret):
        with pytest.raises(ApiException, match="403"):
            call(chosen.namespace)


@pytest.mark.promise("P-REACH-4")
@pytest.mark.parametrize("name", ["single", "cluster", "tunnel", "workers"])
def test_the_api_server_accepts_every_manifest_and_its_pods(name: str, cluster: Cluster) -> None:
    """Their namespaces are restricted: a pod that asks for more is refused."""
    space = f"{name}-{next(NUMBERS)}"
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    about = {"name": space, "labels": label}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": about})
    for kind in ("everloop", "default"):
        account = {"name": kind, "namespace": space}
        cluster.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    for manifest in _manifests(name, space):
        cluster.apply(manifest, dry_run="All", field_validation="Strict")
        if manifest["kind"] in ("Deployment", "StatefulSet"):
            pod: Any = manifest["spec"]["template"] | {"apiVersion": "v1", "kind": "Pod"}
            pod["metadata"] = pod["metadata"] | {"name": "one"}
            pod["spec"] = {"volumes": [], **pod["spec"]}
            claims = manifest["spec"].get("volumeClaimTemplates", ())
            pod["spec"]["volumes"] += [_claimed(one["metadata"]["name"]) for one in claims]
            cluster.core.create_namespaced_pod(space, pod, dry_run="All")
            pod["spec"]["hostNetwork"] = True
            with pytest.raises(ApiException, match="violates PodSecurity"):
                cluster.core.create_namespaced_pod(space, pod, dry_run="All")


@pytest.mark.skipif(KUBECTL is None, reason="no kubectl here")
@pytest.mark.parametrize("name", ["single", "cluster", "tunnel", "workers"])
def test_kubectl_applies_what_kustomize_builds(name: str, cluster: Cluster) -> None:
    (space, *_) = _manifests("workers")
    cluster.apply(space)  # in a dry run, what is in a namespace needs it to be there
    assert KUBECTL
    words = f"--kubeconfig={cluster.plane.folder}/admin --cache-dir={cluster.plane.folder}/cache"
    words += f" apply -k {DEPLOY / name} --dry-run=server --validate=strict"
    done = subprocess.run(  # noqa: S603 - fixed words
        [KUBECTL, *words.split()], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == len(list(_manifests(name)))


def _claimed(name: str) -> Object:
    return {"name": name, "persistentVolumeClaim": {"claimName": f"{name}-one"}}


def _client_of(kubeconfig: str | Path) -> client.ApiClient:
    loading: Any = config
    return cast("client.ApiClient", loading.new_client_from_config(str(kubeconfig)))
