"""What is in `deploy/`: every manifest against the official schemas, and what each one promises.

Kubernetes: `kubernetes-validate`, which carries the schemas of the releases. Argo CD and Compose:
the schemas in `schemas/`, from their own projects; `schemas/README.md` says from where.
"""

import importlib
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

jsonschema: Any = importlib.import_module("jsonschema")  # neither has types
kubernetes_validate: Any = importlib.import_module("kubernetes_validate")

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SCHEMAS = Path(__file__).parent / "schemas"
KUSTOMIZED = ("single", "cluster", "tunnel", "workers")
KUBECTL = shutil.which("kubectl")
DOCKER = shutil.which("docker")
RELEASE = "1.32"  # of Kubernetes, whose schemas are used


def _validate(document: dict[str, Any], schema: str) -> None:
    found = json.loads((SCHEMAS / schema).read_bytes())
    jsonschema.Draft7Validator(found).validate(document)


def _documents(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def _manifests(name: str) -> Iterator[dict[str, Any]]:
    folder = DEPLOY / "kubernetes" / name
    (listing,) = _documents(folder / "kustomization.yaml")
    for resource in listing["resources"]:
        yield from _documents(folder / resource)


def _of_kind(name: str, kind: str) -> list[dict[str, Any]]:
    return [one for one in _manifests(name) if one["kind"] == kind]


def _pods(name: str) -> list[dict[str, Any]]:
    made = [*_of_kind(name, "Deployment"), *_of_kind(name, "StatefulSet")]
    return [one["spec"]["template"]["spec"] for one in made]


@pytest.mark.promise("P-REACH-4")
@pytest.mark.parametrize("name", KUSTOMIZED)
def test_kubernetes_accepts_every_manifest(name: str) -> None:
    for manifest in _manifests(name):
        kubernetes_validate.validate(manifest, RELEASE, strict=True)


@pytest.mark.skipif(KUBECTL is None, reason="no kubectl here")
@pytest.mark.parametrize("name", KUSTOMIZED)
def test_kustomize_builds_what_kubernetes_accepts(name: str) -> None:
    assert KUBECTL
    words = [KUBECTL, "kustomize", str(DEPLOY / "kubernetes" / name)]
    built = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    found = list(yaml.safe_load_all(built.stdout))
    assert len(found) == len(list(_manifests(name)))
    for manifest in found:
        kubernetes_validate.validate(manifest, RELEASE, strict=True)
        space = "everloop-workers" if name == "workers" else "everloop"
        assert manifest["kind"] == "Namespace" or manifest["metadata"]["namespace"] == space
    assert "image: everloop\n" not in built.stdout


@pytest.mark.promise("P-REACH-4")
def test_argo_cd_accepts_the_application_and_its_path_exists() -> None:
    (application,) = _documents(DEPLOY / "argocd/application.yaml")
    _validate(application, "argocd-application-v1alpha1.json")
    assert (ROOT / application["spec"]["source"]["path"] / "kustomization.yaml").is_file()
    application["spec"]["destination"] = "here"
    with pytest.raises(jsonschema.ValidationError):
        _validate(application, "argocd-application-v1alpha1.json")


@pytest.mark.promise("P-REACH-4")
def test_compose_accepts_the_file_and_what_it_builds_from_exists() -> None:
    (compose,) = _documents(DEPLOY / "compose.yaml")
    _validate(compose, "compose-spec.json")
    for service in compose["services"].values():
        if build := service.get("build"):
            assert (DEPLOY / build["context"] / build["dockerfile"]).is_file()
        for watched in service.get("develop", {}).get("watch", ()):
            assert (DEPLOY / watched["path"]).exists()


def test_docker_compose_itself_accepts_the_file_with_every_profile() -> None:
    if DOCKER is None or _docker("compose", "version").returncode:
        pytest.skip("no docker compose here")
    path = DEPLOY / "compose.yaml"
    told = _docker("compose", "--file", str(path), "--profile", "*", "config")
    assert told.returncode == 0, told.stderr
    services = _documents(path)[0]["services"]
    assert set(yaml.safe_load(told.stdout)["services"]) == set(services)


def _docker(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the client; it asks no daemon for this."""
    command = [DOCKER or "docker", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed commands


def test_the_image_has_the_library_of_every_part_that_a_setting_switches_on() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    (installed,) = re.findall(r"\.whl\)\[(.+)\]", (DEPLOY / "Containerfile").read_text())
    (app,) = re.findall(r"\[(.+)\]", extras["app"][0])
    brought = {*installed.split(","), *app.split(",")}
    assert set(extras) - brought == {"hub", "local"}  # models that are downloaded, or large


@pytest.mark.promise("P-REACH-5")
@pytest.mark.parametrize("name", KUSTOMIZED)
def test_no_pod_is_root_or_writes_to_its_image_or_holds_a_token(name: str) -> None:
    for pod in _pods(name):
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["runAsNonRoot"] is True
        for container in pod["containers"]:
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "memory" in container["resources"]["limits"]


@pytest.mark.promise("P-REACH-5")
@pytest.mark.parametrize("name", ["single", "cluster"])
def test_what_no_policy_allows_is_denied(name: str) -> None:
    policies = _of_kind(name, "NetworkPolicy")
    (everything,) = (one for one in policies if one["metadata"]["name"] == "deny-all")
    assert everything["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


@pytest.mark.promise("P-REACH-8")
def test_a_worker_reaches_nothing_in_the_cluster_and_its_account_may_do_nothing() -> None:
    (policy,) = _of_kind("workers", "NetworkPolicy")
    assert policy["spec"]["podSelector"] == {}
    assert policy["spec"]["ingress"] == []
    _, internet = policy["spec"]["egress"]
    assert {"10.0.0.0/8", "169.254.0.0/16"} <= set(internet["to"][0]["ipBlock"]["except"])
    (account,) = _of_kind("workers", "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    (bound,) = _of_kind("workers", "RoleBinding")
    assert account["metadata"]["name"] not in {one["name"] for one in bound["subjects"]}


def test_sqlite_has_one_node_and_several_nodes_survive_a_drain() -> None:
    (single,) = _of_kind("single", "StatefulSet")
    (several,) = _of_kind("cluster", "Deployment")
    (budget,) = _of_kind("cluster", "PodDisruptionBudget")
    assert single["spec"]["replicas"] == 1
    assert several["spec"]["replicas"] > budget["spec"]["minAvailable"] > 0
    chosen = several["spec"]["selector"]["matchLabels"]
    assert budget["spec"]["selector"]["matchLabels"] == chosen


def test_no_file_holds_a_secret() -> None:
    kinds = {one["kind"] for name in KUSTOMIZED for one in _manifests(name)}
    assert "Secret" not in kinds
    for path in DEPLOY.rglob("*"):
        assert not path.is_file() or "PRIVATE KEY" not in path.read_text()


@pytest.mark.parametrize("name", ["Containerfile", "Containerfile.agent"])
def test_an_image_runs_as_a_fixed_user_and_without_a_shell(name: str) -> None:
    final = (DEPLOY / name).read_text().rpartition("\nFROM ")[2]
    lines = final.splitlines()
    (user,) = (line for line in lines if line.startswith("USER "))
    assert user.partition(" ")[2].partition(":")[0].isdigit()
    started = [line for line in lines if line.startswith(("ENTRYPOINT", "CMD", "    CMD"))]
    assert started
    assert all(json.loads(line[line.index("[") :]) for line in started)


def test_the_health_check_asks_what_the_server_answers() -> None:
    assert "http://127.0.0.1:7777/api/health" in (DEPLOY / "Containerfile").read_text()
    for name in ("single", "cluster"):
        (container,) = _pods(name)[0]["containers"]
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container[probe]["httpGet"]
            assert asked["path"] == "/api/health"
            assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]


def test_images_are_built_from_the_sources_alone() -> None:
    left_out = set((ROOT / ".dockerignore").read_text().split())
    assert {".git", ".venv*", "web/node_modules", "src/everloop/web", "deploy"} <= left_out
    copied = re.findall(
        r"^COPY (?!--from)(\S+)", (DEPLOY / "Containerfile").read_text(), re.MULTILINE
    )
    assert not left_out & set(copied)
