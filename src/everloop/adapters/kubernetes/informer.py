"""A copy of the objects of one kind, kept up by watching, with a new list now and then."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

from kubernetes.client.exceptions import ApiException
from kubernetes.watch.watch import iter_resp_lines
from urllib3.exceptions import HTTPError

from everloop.adapters.kubernetes.manifest import SELECTOR, Object

RELIST_S = 60  # how long one watch lasts
RETRY_S = 0.5
CONNECT_S = 10
GONE_MAX = 1_000  # last states of deleted objects that are kept

ListCall = Callable[..., Any]
lines: Callable[[Any], Iterator[str]] = iter_resp_lines


class Informer:
    """The objects of our workers by name. Safe from any thread."""

    def __init__(self, list_call: ListCall, namespace: str) -> None:
        self._list, self._namespace = list_call, namespace
        self._objects: dict[str, Object] = {}
        self._gone: dict[str, Object] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self.synced = threading.Event()
        self.problem = ""
        self._thread = threading.Thread(target=self._run, name="everloop-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; the open watch ends by itself."""
        self._stopping.set()

    def all(self) -> list[Object]:
        """Every object."""
        with self._lock:
            return list(self._objects.values())

    def gone(self) -> list[Object]:
        """Objects whose deletion was seen, as they were in the end; the last ones first."""
        with self._lock:
            return list(reversed(self._gone.values()))

    def get(self, name: str) -> Object | None:
        """The object with a name."""
        with self._lock:
            return self._objects.get(name)

    def put(self, found: Object) -> None:
        """Keep an object that was just read or created, unless the watch told of a newer one."""
        with self._lock:
            self._keep(found)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._watch(self._sync())
                self.problem = ""
            except (ApiException, HTTPError, OSError, ValueError, KeyError) as problem:
                self.problem = f"the cluster does not answer ({type(problem).__name__})"
                self._stopping.wait(RETRY_S)

    def _sync(self) -> str:
        """List the objects; the watch goes on from there, so whatever is newer comes again."""
        found = json.loads(self._call().data)
        listed = {one["metadata"]["name"]: one for one in found["items"]}
        with self._lock:
            self._objects = listed
        self.synced.set()
        return str(found["metadata"].get("resourceVersion", ""))

    def _keep(self, found: Object) -> None:
        name = found["metadata"]["name"]
        known = (self._objects.get(name), self._gone.get(name))
        if all(one is None or _version(one) <= _version(found) for one in known):
            self._objects[name] = found

    def refresh(self) -> None:
        """List the objects now, for whoever cannot wait for the next event.

        What is gone is left to the watch, which tells how it was in the end.

        Raises:
            ApiException: the cluster refuses.
            HTTPError: it cannot be reached.
        """
        found = json.loads(self._call().data)
        with self._lock:
            for one in found["items"]:
                self._keep(one)

    def _watch(self, version: str) -> None:
        response = self._call(watch=True, resource_version=version, timeout_seconds=RELIST_S)
        try:
            for line in lines(response):
                if self._stopping.is_set():
                    return
                self._apply(json.loads(line))
        finally:
            response.release_conn()

    def _apply(self, event: Object) -> None:
        found = event["object"]
        if event["type"] == "ERROR":  # such as 410: the version is too old
            raise ApiException(status=found.get("code"), reason=found.get("reason"))
        with self._lock:
            if event["type"] == "DELETED":
                self._objects.pop(found["metadata"]["name"], None)
                self._gone[found["metadata"]["name"]] = found
                if len(self._gone) > GONE_MAX:
                    del self._gone[next(iter(self._gone))]
            elif event["type"] in ("ADDED", "MODIFIED"):
                self._objects[found["metadata"]["name"]] = found

    def _call(self, **more: Any) -> Any:
        """The raw response: objects stay as the cluster sent them."""
        return self._list(
            self._namespace,
            label_selector=SELECTOR,
            _preload_content=False,
            _request_timeout=(CONNECT_S, RELIST_S + CONNECT_S),
            **more,
        )


def _version(found: Object) -> int:
    """The version of an object: of two, the higher one is newer."""
    text = str(found["metadata"].get("resourceVersion", ""))
    return int(text) if text.isdecimal() else 0
