"""The supervisor starts and stops the background services of a process, and publishes health."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from everloop.background.health import HealthFile, TaskHealth

PUBLISH_EVERY_S = 1.0


class Service(Protocol):
    """Something that runs beside requests: a task, a scheduler, connections to tool servers."""

    def start(self) -> None:
        """Begin, and return at once."""
        ...

    def stop(self) -> None:
        """End after the current step. Harmless if it never began."""
        ...

    def health(self) -> TaskHealth:
        """What it is doing, and what keeps it from working."""
        ...


class Supervisor:
    """Starts services in their order, and stops them in the opposite one."""

    def __init__(self, services: Sequence[Service], health_folder: Path) -> None:
        self._services = list(services)
        self._file = HealthFile(health_folder)
        self._stopping = threading.Event()
        self._publisher = threading.Thread(
            target=self._publish, name="everloop-health", daemon=True
        )
        self._started: list[Service] = []

    def start(self) -> None:
        """Start every service."""
        for service in self._services:
            service.start()
            self._started.append(service)
        self._publisher.start()

    def add(self, service: Service) -> None:
        """Supervise one more service, and start it now."""
        self._services.append(service)
        service.start()
        self._started.append(service)

    def stop(self) -> None:
        """Stop every service that was started."""
        self._stopping.set()
        while self._started:
            self._started.pop().stop()
        if self._publisher.is_alive():
            self._publisher.join()
        self._file.close()

    def health(self) -> list[TaskHealth]:
        """The health of every service, in the order in which they were started."""
        return [service.health() for service in self._services]

    def _publish(self) -> None:
        while not self._stopping.is_set():
            self._file.publish(tuple(self.health()))
            self._stopping.wait(PUBLISH_EVERY_S)
