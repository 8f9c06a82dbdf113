"""Checks of the parts that are off until they are configured: what they lack, and the next step."""

from collections.abc import Callable, Iterator
from pathlib import Path

from everloop.doctor.github import check_github
from everloop.doctor.health import Finding
from everloop.doctor.voice_checks import voice_finding
from everloop.settings import Settings

HasModule = Callable[[str], bool]
POD_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def check_optional_parts(settings: Settings, has_module: HasModule) -> Iterator[Finding]:
    """One finding for each part. Nothing outside of this machine is asked."""
    yield _metrics(settings, has_module)
    yield _traces(settings, has_module)
    yield _cluster(settings, has_module)
    yield voice_finding(settings, has_module)
    yield check_github(settings.github)
    yield _warehouse(settings, has_module)


def _metrics(settings: Settings, has_module: HasModule) -> Finding:
    if not settings.observe.metrics_key:
        words = "off; a token in `observe.metrics_key` switches `/metrics` on"
        return Finding("metrics", "absent", words, "docs/observe.md explains how")
    if not has_module("opentelemetry.exporter.prometheus"):
        words = "a token is set, but the library for it is not installed"
        return Finding("metrics", "attention", words, "pip install 'everloop[observe]'")
    return Finding("metrics", "fine", "served at /metrics")


def _traces(settings: Settings, has_module: HasModule) -> Finding:
    observe = settings.observe
    logs = "JSON logs are on" if observe.logs == "json" else "JSON logs are off"
    if not observe.otlp_endpoint:
        words = f"off; `observe.otlp_endpoint` names a collector; {logs}"
        return Finding("traces", "absent", words, "docs/observe.md explains how")
    if not has_module("opentelemetry.exporter.otlp.proto.http"):
        words = "a collector is set, but the library for it is not installed"
        return Finding("traces", "attention", words, "pip install 'everloop[observe]'")
    return Finding("traces", "fine", f"sent to {observe.otlp_endpoint}; {logs}")


def _cluster(settings: Settings, has_module: HasModule) -> Finding:
    chosen = settings.workers.kubernetes
    if not chosen.namespace:
        words = "off; `workers.kubernetes.namespace` lets workers run as Jobs"
        return Finding("Kubernetes", "absent", words, "docs/kubernetes.md explains how")
    if not has_module("kubernetes"):
        words = "a namespace is set, but the client for it is not installed"
        return Finding("Kubernetes", "attention", words, "pip install 'everloop[kubernetes]'")
    if chosen.kubeconfig and not Path(chosen.kubeconfig).expanduser().is_file():
        words = f"there is no file {chosen.kubeconfig!r}"
        return Finding("Kubernetes", "attention", words, "Correct workers.kubernetes.kubeconfig.")
    if not chosen.kubeconfig and not POD_TOKEN.exists():
        words = "a namespace is set, but no kubeconfig, and this is no pod with a token"
        step = "Set workers.kubernetes.kubeconfig, or mount the token (docs/kubernetes.md)."
        return Finding("Kubernetes", "attention", words, step)
    return Finding("Kubernetes", "fine", f"Jobs in {chosen.namespace}, of {chosen.image}")


def _warehouse(settings: Settings, has_module: HasModule) -> Finding:
    if not settings.sink.bigquery:
        words = "no copy in BigQuery; `sink.bigquery` names one"
        return Finding("warehouse", "absent", words, "docs/bigquery.md explains how")
    if not has_module("google.cloud.bigquery"):
        words = "sink.bigquery is set, but the library for it is not installed"
        return Finding("warehouse", "attention", words, "pip install 'everloop[bigquery]'")
    return Finding("warehouse", "fine", f"copied to {settings.sink.bigquery}")
