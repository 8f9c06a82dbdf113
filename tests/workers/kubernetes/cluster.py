"""A Kubernetes API server on loopback: it keeps objects, sends watch events and runs Jobs.

Jobs run as processes of this machine. Only what the runner needs is there: Jobs, pods and their
logs; what a person or the cluster does (eviction, deadline) is done by its methods.
"""

import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

Object = dict[str, Any]
REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
PATH = re.compile(r"/(?:api|apis/batch)/v1/namespaces/([^/]+)/(jobs|pods)(?:/([^/]+))?(/log)?$")


class Cluster:
    """The objects of a cluster, and what happens to them."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.objects: dict[str, dict[str, Object]] = {"jobs": {}, "pods": {}}
        self.events: list[tuple[int, str, str, Object]] = []  # version, kind, type, object
        self.logs: dict[str, bytearray] = {}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.created: list[str] = []
        self.refusing = False  # every call fails
        self.hold = False  # pods stay pending
        self.losing = False  # a Job is created, and nobody is told
        self.log_reads = 0
        self.url = ""

    def put(self, kind: str, found: Object, how: str) -> None:
        """Change an object and tell those who watch."""
        with self.changed:
            version = len(self.events) + 1
            found["metadata"]["resourceVersion"] = str(version)
            if how == "DELETED":
                self.objects[kind].pop(found["metadata"]["name"], None)
            else:
                self.objects[kind][found["metadata"]["name"]] = found
            self.events.append((version, kind, how, json.loads(json.dumps(found))))
            self.changed.notify_all()

    def create_job(self, job: Object) -> Object:
        """Create a Job and its pod."""
        name = job["metadata"]["name"]
        self.created.append(name)
        job["status"] = {"startTime": _now()}
        self.put("jobs", job, "ADDED")
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{name}-x7x7x", "labels": job["metadata"]["labels"]},
            "spec": job["spec"]["template"]["spec"],
            "status": {"phase": "Pending"},
        }
        self.put("pods", pod, "ADDED")
        if not self.hold:
            threading.Thread(target=self._run, args=(job, pod), daemon=True).start()
        return job

    def _run(self, job: Object, pod: Object) -> None:
        """What the kubelet and the Job controller do."""
        name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]
        self.logs[name] = bytearray()
        env = {one["name"]: one["value"] for one in container["env"]} | {"PATH": os.defpath}
        process = subprocess.Popen(  # noqa: S603 - the commands of these tests
            [expanded(word, env) for word in container["command"]],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.processes[name] = process
        self.put("pods", pod | {"status": {"phase": "Running"}}, "MODIFIED")
        assert process.stdout is not None
        while piece := os.read(process.stdout.fileno(), 65_536):
            with self.changed:
                self.logs[name] += piece
                self.changed.notify_all()
        process.stdout.close()
        code = process.wait()
        ended = {"exitCode": code if code >= 0 else 128 - code, "reason": "Completed"}
        self.end(job["metadata"]["name"], {"terminated": ended}, ok=code == 0)

    def end(self, name: str, state: Object, *, ok: bool, **more: Any) -> None:
        """A pod ended, and so does its Job."""
        pod = self.objects["pods"][f"{name}-x7x7x"]
        if pod["status"]["phase"] in ("Succeeded", "Failed"):
            return
        begun = pod["metadata"]["name"] in self.processes
        container = {"state": state, "containerID": f"test://{name}" if begun else ""}
        status = {"phase": "Succeeded" if ok else "Failed", "containerStatuses": [container]}
        self.put("pods", pod | {"status": status | more}, "MODIFIED")
        self.finish_job(name, "Complete" if ok else "Failed", "" if ok else "BackoffLimitExceeded")

    def finish_job(self, name: str, kind: str, reason: str) -> None:
        """Set the last condition of a Job."""
        job = self.objects["jobs"][name]
        if job["status"].get("conditions"):
            return
        about = {"type": kind, "status": "True", "reason": reason, "lastTransitionTime": _now()}
        self.put("jobs", job | {"status": job["status"] | {"conditions": [about]}}, "MODIFIED")

    def evict(self, name: str, *, begun: bool = True) -> None:
        """A node drains: the pod is ended with the condition that tells so."""
        about = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}
        unknown = {"exitCode": 137, "reason": "ContainerStatusUnknown"}  # as the kubelet says it
        state: Object = {"terminated": {"exitCode": 143} if begun else unknown}
        self.end(name, state, ok=False, conditions=[about])
        self.kill(name)

    def exceed_deadline(self, name: str) -> None:
        """The Job's time is over."""
        self.finish_job(name, "Failed", "DeadlineExceeded")
        self.kill(name)

    def kill(self, name: str) -> None:
        """End the process of a pod."""
        process = self.processes.get(f"{name}-x7x7x")
        if process is not None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def patch_job(self, name: str, change: Object) -> Object:
        """Merge a change into a Job; a deadline that is over ends its pod."""
        job = self.objects["jobs"][name]
        about = job["metadata"].setdefault("annotations", {})
        about.update(change["metadata"]["annotations"])
        job["spec"].update(change["spec"])
        self.put("jobs", job, "MODIFIED")
        if job["spec"]["activeDeadlineSeconds"] == 0:
            self.exceed_deadline(name)
        return job


def expanded(word: str, env: dict[str, str]) -> str:
    """A word of a command as the kubelet reads it: `$(NAME)` is a variable, `$$` is `$`."""

    def one(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else env.get(found[1], found[0])

    return REFERENCE.sub(one, word)


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")  # noqa: TID251 - of the cluster


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cluster: Cluster

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        found = PATH.match(parts.path)
        if self.cluster.refusing or found is None:
            self._answer(500, {"message": "not now"})
        elif found[4]:
            self._log(found[3])
        elif found[3]:
            self._one(found[2], found[3])
        elif asked.get("watch"):
            self._watch(found[2], int(asked.get("resourceVersion") or 0))
        else:
            self._list(found[2])

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.cluster.refusing:
            self._answer(500, {"message": "not now"})
        elif body["metadata"]["name"] in self.cluster.objects["jobs"]:
            self._answer(409, {"reason": "AlreadyExists"})
        elif self.cluster.losing:
            self.cluster.create_job(body)
            self.close_connection = True
        else:
            self._answer(201, self.cluster.create_job(body))

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        found = PATH.match(urlsplit(self.path).path)
        assert found
        self._answer(200, self.cluster.patch_job(found[3], body))

    def _one(self, kind: str, name: str) -> None:
        known = self.cluster.objects[kind].get(name)
        self._answer(200 if known else 404, known or {"reason": "NotFound"})

    def _list(self, kind: str) -> None:
        with self.cluster.changed:
            items = list(self.cluster.objects[kind].values())
            about = {"resourceVersion": str(len(self.cluster.events))}
        name = {"jobs": "JobList", "pods": "PodList"}[kind]
        version = {"jobs": "batch/v1", "pods": "v1"}[kind]
        listed = {"kind": name, "apiVersion": version, "metadata": about, "items": items}
        self._answer(200, listed)

    def _watch(self, kind: str, after: int) -> None:
        self._begin_stream()
        with suppress(OSError):
            while True:
                with self.cluster.changed:
                    new = [one for one in self.cluster.events[after:] if one[1] == kind]
                    after = len(self.cluster.events)
                    if not new and not self.cluster.changed.wait(20):
                        break
                for _, _, how, found in new:
                    self._piece(json.dumps({"type": how, "object": found}).encode() + b"\n")
            self._piece(b"")

    def _log(self, pod: str) -> None:
        cluster, sent = self.cluster, 0
        cluster.log_reads += 1
        self._begin_stream()
        with suppress(OSError):
            while True:
                with cluster.changed:
                    piece = bytes(cluster.logs.get(pod, b"")[sent:])
                    phase = cluster.objects["pods"][pod]["status"]["phase"]
                    if not piece and phase in ("Succeeded", "Failed"):
                        break
                    if not piece:
                        cluster.changed.wait(20)
                sent += len(piece)
                if piece:
                    self._piece(piece)
            self._piece(b"")

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def _piece(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _answer(self, status: int, body: Object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def running_cluster(folder: Path) -> Generator[tuple[Cluster, Path]]:
    """A cluster, and a kubeconfig file that leads to it."""
    cluster = Cluster()
    handler = type("Handler", (_Handler,), {"cluster": cluster})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    cluster.url = f"http://127.0.0.1:{server.server_port}"
    path = folder / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "here",
                "clusters": [{"name": "here", "cluster": {"server": cluster.url}}],
                "users": [{"name": "me", "user": {}}],
                "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            }
        )
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield cluster, path
    finally:
        for name in list(cluster.objects["jobs"]):
            cluster.kill(name)
        server.shutdown()
        server.server_close()
