"""The copy of a cluster's objects: what is newer is never replaced by what is older."""

import json
from typing import Any

from everloop.adapters.kubernetes.informer import Informer


class _Response:
    def __init__(self, version: int, *items: Any) -> None:
        listed = {"metadata": {"resourceVersion": str(version)}, "items": list(items)}
        self.data = json.dumps(listed)


def _pod(name: str, version: int) -> Any:
    return {"metadata": {"name": name, "resourceVersion": str(version)}}


def _versions(informer: Informer) -> dict[str, str]:
    known = [one["metadata"] for one in informer.all()]
    return {one["name"]: one["resourceVersion"] for one in known}


def test_an_answer_that_comes_late_does_not_hide_a_newer_event() -> None:
    informer = Informer(lambda *_, **__: None, "workers")
    for version in (5, 4):
        informer.put(_pod("a", version))
    assert _versions(informer) == {"a": "5"}


def test_a_list_that_comes_late_does_not_hide_a_newer_event() -> None:
    listed = _Response(7, _pod("a", 4), _pod("b", 7))
    informer = Informer(lambda *_, **__: listed, "workers")
    for name, version in (("a", 5), ("c", 8)):
        informer.put(_pod(name, version))
    informer.refresh()
    assert _versions(informer) == {"a": "5", "b": "7", "c": "8"}
