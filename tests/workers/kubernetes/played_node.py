"""A node, played: it takes every pod of a worker, runs it as a process and serves its log.

It does what the scheduler and the kubelet do, in the same order and by the same calls: it binds a
pod, tells the state of its container, answers the API server's requests for a log over HTTPS, and
lets go of a pod that is deleted only when its process has ended.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import os
import re
import signal
import ssl
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.watch import Watch
from tests.workers.kubernetes.cluster import expanded
from tests.workers.kubernetes.control_plane import HERE, ControlPlane, self_signed
from urllib3.exceptions import HTTPError

Object = dict[str, Any]
NAME = "played"
SELECTOR = "app.kubernetes.io/name=everloop-worker"
LOG = re.compile(r"/containerLogs/([^/]+)/([^/]+)/([^/]+)$")
RETRY_S = 0.2
new_watch: Any = Watch


class PlayedNode:
    """What happens to the pods of one node."""

    def __init__(self, plane: ControlPlane) -> None:
        self._core = client.CoreV1Api(plane.admin)
        self._stopping = threading.Event()
        self._containers: dict[str, Container] = {}
        self.hold = False  # as if an image were pulled: no container begins
        self.changed = threading.Condition()

    def register(self, port: int) -> None:
        """Tell the cluster where this node's logs are."""
        node: Any = {"metadata": {"name": NAME}}
        self._core.create_node(node)
        status = {
            "addresses": [{"type": "InternalIP", "address": HERE}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        }
        self._core.patch_node_status(NAME, {"status": status})

    def watch(self) -> None:
        """See pods come and go, until `stop`."""
        while not self._stopping.is_set():
            listing, watch = self._core.list_pod_for_all_namespaces, new_watch()
            with suppress(ApiException, HTTPError, OSError, ValueError):
                for event in watch.stream(listing, label_selector=SELECTOR, timeout_seconds=20):
                    self._see(event["raw_object"], event["type"])
            self._stopping.wait(RETRY_S)

    def stop(self) -> None:
        """End every process."""
        self._stopping.set()
        for one in list(self._containers.values()):
            one.signal(signal.SIGKILL)

    def log(self, space: str, pod: str) -> "Container | None":
        """The container of a pod with this name."""
        found = [one for one in self._containers.values() if one.names == (space, pod)]
        return found[-1] if found else None

    def _see(self, pod: Object, how: str) -> None:
        uid, deleted = pod["metadata"]["uid"], "deletionTimestamp" in pod["metadata"]
        if how == "DELETED" or pod["metadata"]["labels"] is None:
            return
        if not pod["spec"].get("nodeName"):
            if not deleted:
                self._bind(pod)
        elif deleted:
            self._end(pod)
        elif uid not in self._containers and not self.hold:
            self._containers[uid] = Container(self, pod)
            threading.Thread(target=self._containers[uid].run, daemon=True).start()

    def _bind(self, pod: Object) -> None:
        about = pod["metadata"]
        target = {"apiVersion": "v1", "kind": "Node", "name": NAME}
        body: Any = {"metadata": {"name": about["name"]}, "target": target}
        self._core.create_namespaced_pod_binding(
            about["name"], about["namespace"], body, _preload_content=False
        )

    def _end(self, pod: Object) -> None:
        container = self._containers.get(pod["metadata"]["uid"])
        if container is not None:
            container.deleted = True
            container.signal(signal.SIGTERM)
            if container.ended:
                self.let_go(pod)
            return
        # As the kubelet says it of a container that it never started.
        unknown = {"exitCode": 137, "reason": "ContainerStatusUnknown"}
        self.tell(pod, "Failed", {"terminated": unknown}, container_id="")
        self.let_go(pod)

    def tell(self, pod: Object, phase: str, state: Object, *, container_id: str) -> None:
        """Report the state of a pod's only container."""
        wanted = pod["spec"]["containers"][0]
        container = {
            "name": wanted["name"],
            "image": wanted["image"],
            "imageID": "",
            "ready": phase == "Running",
            "restartCount": 0,
            "containerID": container_id,
            "state": state,
        }
        change = {"status": {"phase": phase, "containerStatuses": [container]}}
        self._call(self._core.patch_namespaced_pod_status, pod, change)

    def let_go(self, pod: Object) -> None:
        """Nothing of a deleted pod is left here: the API server may remove it."""
        self._call(self._core.delete_namespaced_pod, pod, grace_period_seconds=0)

    def _call(self, call: Any, pod: Object, *body: Object, **more: Any) -> None:
        """Ask until the API server has answered; a pod may be gone by then."""
        about = pod["metadata"]
        while not self._stopping.is_set():
            try:
                call(about["name"], about["namespace"], *body, **more)
            except ApiException as problem:
                if problem.status in (404, 409):
                    return
            except (HTTPError, OSError):
                pass
            else:
                return
            self._stopping.wait(RETRY_S)


class Container:
    """A process in the place of a container."""

    def __init__(self, node: PlayedNode, pod: Object) -> None:
        self._node, self._pod = node, pod
        self.names = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        self.output = bytearray()
        self.ended = self.deleted = False
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        """Run it, and tell how it ended."""
        wanted = self._pod["spec"]["containers"][0]
        env: dict[str, str] = {}
        for one in wanted["env"]:
            env[one["name"]] = expanded(one.get("value", ""), env)
        self._process = subprocess.Popen(  # noqa: S603 - the commands of these tests
            [expanded(word, env) for word in wanted["command"]],
            env=env | {"PATH": os.defpath},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        if self.deleted:
            self.signal(signal.SIGTERM)
        container_id, began = f"test://{self._pod['metadata']['uid']}", _now()
        state = {"running": {"startedAt": began}}
        self._node.tell(self._pod, "Running", state, container_id=container_id)
        assert self._process.stdout is not None
        while piece := os.read(self._process.stdout.fileno(), 65_536):
            with self._node.changed:
                self.output += piece
                self._node.changed.notify_all()
        self._process.stdout.close()
        code = self._process.wait()
        ended = {
            "exitCode": code if code >= 0 else 128 - code,
            "reason": "Completed" if code == 0 else "Error",
            "startedAt": began,
            "finishedAt": _now(),
        }
        with self._node.changed:
            self.ended = True
            self._node.changed.notify_all()
        phase = "Failed" if code else "Succeeded"
        self._node.tell(self._pod, phase, {"terminated": ended}, container_id=container_id)
        if self.deleted:
            self._node.let_go(self._pod)

    def signal(self, how: signal.Signals) -> None:
        """Send a signal to the process and its children."""
        if self._process is not None and not self.ended:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, how)


class _Logs(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    node: PlayedNode

    def do_GET(self) -> None:
        found = LOG.match(urlsplit(self.path).path)
        container = self.node.log(found[1], found[2]) if found else None
        self.send_response(200 if container else 404)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        with suppress(OSError):
            if container:
                self._follow(container)
            self._piece(b"")

    def _follow(self, container: Container) -> None:
        sent = 0
        while True:
            with self.node.changed:
                piece = bytes(container.output[sent:])
                if not piece and container.ended:
                    return
                if not piece:
                    self.node.changed.wait(20)
            sent += len(piece)
            if piece:
                self._piece(piece)

    def _piece(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _now() -> str:
    found = datetime.now(UTC)  # noqa: TID251 - the time of the cluster
    return found.isoformat(timespec="seconds").replace("+00:00", "Z")


@contextmanager
def played_node(plane: ControlPlane) -> Generator[PlayedNode]:
    """A node of a control plane."""
    node = PlayedNode(plane)
    handler = type("Logs", (_Logs,), {"node": node})
    server = ThreadingHTTPServer((HERE, 0), handler)
    server.daemon_threads = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(self_signed(plane.folder / "node.pem"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    node.register(server.server_port)
    threading.Thread(target=node.watch, daemon=True).start()
    try:
        yield node
    finally:
        node.stop()
        server.shutdown()
        server.server_close()
