"""The control plane of Kubernetes on loopback: etcd, the API server, and some of the controllers.

They are the real programs, built by `make kube` (or set by `EVERLOOP_TEST_ETCD` and the like, or
on the PATH). What is missing is a node: `played_node.py` does what a scheduler and a kubelet would.
"""

import os
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID
from kubernetes import client, config

BUILT = Path(__file__).parents[3] / "build/kube"
NAMES = ("etcd", "kube-apiserver", "kube-controller-manager")
CONTROLLERS = (
    "job-controller",
    "serviceaccount-controller",
    "resourcequota-controller",
    "ttl-after-finished-controller",
    "garbage-collector-controller",
)
HERE = "127.0.0.1"
START_S = 120.0


def _program(name: str) -> str | None:
    setting = f"EVERLOOP_TEST_{name.upper().replace('-', '_')}"
    chosen = os.environ.get(setting)  # noqa: TID251 - of the tests only
    return chosen or shutil.which(name) or shutil.which(name, path=BUILT)


PROGRAMS = {name: _program(name) for name in NAMES}
MISSING = [name for name, found in PROGRAMS.items() if found is None]


class ControlPlane:
    """The three programs, and the ways in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = [_free_port() for _ in range(2)]
        self._admin_token = secrets.token_urlsafe()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._write_keys()

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return f"https://{HERE}:{self.ports[1]}"

    @property
    def admin(self) -> client.ApiClient:
        """A client that may do everything."""
        loading: Any = config
        return cast("client.ApiClient", loading.new_client_from_config(str(self.folder / "admin")))

    def start(self) -> None:
        """Start all three, one after the other."""
        store = f"http://{HERE}:{self.ports[0]}"
        self._start(
            "etcd",
            f"--data-dir={self.folder}/etcd",
            f"--listen-client-urls={store}",
            f"--advertise-client-urls={store}",
            f"--listen-peer-urls=http://{HERE}:0",
            "--unsafe-no-fsync",
        )
        _until_healthy(f"{store}/health", None)
        self.start_api_server()
        self.kubeconfig("admin", self._admin_token)
        self._start(
            "kube-controller-manager",
            f"--kubeconfig={self.folder}/admin",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            "--secure-port=0",
        )

    def start_api_server(self) -> None:
        """Start the API server, also after it was killed."""
        self._start(
            "kube-apiserver",
            f"--etcd-servers=http://{HERE}:{self.ports[0]}",
            f"--bind-address={HERE}",
            f"--secure-port={self.ports[1]}",
            f"--cert-dir={self.folder}/certs",
            f"--token-auth-file={self.folder}/tokens.csv",
            f"--service-account-key-file={self.folder}/accounts.key",
            f"--service-account-signing-key-file={self.folder}/accounts.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",
            "--kubelet-preferred-address-types=InternalIP",
        )
        _until_healthy(f"{self.url}/readyz", self.folder / "certs/apiserver.crt")

    def kill_api_server(self) -> None:
        """End it at once."""
        process = self._running["kube-apiserver"]
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """End all three; nothing of them is needed any more."""
        for process in reversed(self._running.values()):
            process.kill()
            process.wait()

    def kubeconfig(self, name: str, token: str) -> Path:
        """A file that leads to the API server with a token."""
        path = self.folder / name
        place = {"server": self.url, "certificate-authority": "certs/apiserver.crt"}
        path.write_text(
            yaml.safe_dump(
                {
                    "apiVersion": "v1",
                    "kind": "Config",
                    "current-context": "here",
                    "clusters": [{"name": "here", "cluster": place}],
                    "users": [{"name": "me", "user": {"token": token}}],
                    "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
                }
            )
        )
        return path

    def _start(self, name: str, *words: str) -> None:
        program = PROGRAMS[name]
        assert program
        with (self.folder / f"{name}.log").open("ab") as log:
            self._running[name] = subprocess.Popen(  # noqa: S603 - our own choice of programme
                [program, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _write_keys(self) -> None:
        key = rsa.generate_private_key(65537, 2048)
        (self.folder / "accounts.key").write_bytes(_pem(key))
        row = f'{self._admin_token},admin,admin,"system:masters"\n'
        (self.folder / "tokens.csv").write_text(row)


def self_signed(path: Path) -> Path:
    """A key and a certificate for the loopback address, in one file."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "node")])
    now = datetime.now(UTC)  # noqa: TID251 - certificates know wall-clock time only
    made = (
        x509.CertificateBuilder(issuer_name=name, subject_name=name, public_key=key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    path.write_bytes(_pem(key) + made.public_bytes(serialization.Encoding.PEM))
    return path


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    plain = serialization.NoEncryption()
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, plain
    )


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HERE, 0))
        port: int = one.getsockname()[1]
        return port


def _until_healthy(url: str, certificate: Path | None) -> None:
    deadline = time.monotonic() + START_S
    while True:
        try:
            context = ssl.create_default_context(cafile=certificate) if certificate else None
            with urllib.request.urlopen(url, context=context, timeout=5):  # noqa: S310 - loopback
                return
        except OSError:
            assert time.monotonic() < deadline, f"{url} does not answer"
            time.sleep(0.1)


@contextmanager
def control_plane(folder: Path) -> Generator[ControlPlane]:
    """The control plane, for as long as it is needed."""
    plane = ControlPlane(folder)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()
