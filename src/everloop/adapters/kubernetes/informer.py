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

ListCall = Callable[..., Any]
lines: Callable[[Any], Iterator[str]] = iter_resp_lines


class Informer:
    """The objects of our workers by name. Safe from any thread."""

    def __init__(self, list_call: ListCall, namespace: str) -> None:
        self._list, self._namespace = list_call, namespace
        self._objects: dict[str, Object] = {}
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

    def get(self, name: str) -> Object | None:
        """The object with a name."""
        with self._lock:
            return self._objects.get(name)

    def put(self, found: Object) -> None:
        """Keep an object that was just read or created."""
        with self._lock:
            self._objects[found["metadata"]["name"]] = found

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._watch(self._sync())
                self.problem = ""
            except (ApiException, HTTPError, OSError, ValueError, KeyError) as problem:
                self.problem = f"the cluster does not answer ({type(problem).__name__})"
                self._stopping.wait(RETRY_S)

    def _sync(self) -> str:
        found = json.loads(self._call().data)
        listed = {one["metadata"]["name"]: one for one in found["items"]}
        with self._lock:
            self._objects = listed
        self.synced.set()
        return str(found["metadata"].get("resourceVersion", ""))

    def refresh(self) -> None:
        """List the objects now, for whoever cannot wait for the next event.

        Raises:
            ApiException: the cluster refuses.
            HTTPError: it cannot be reached.
        """
        self._sync()

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
