"""FastAPI dependencies of the routes: the running engine and the caller of a request.

They are `async` although they await nothing: FastAPI would run sync ones in a thread pool.
"""

from typing import Annotated, cast

from fastapi import Depends, Request

from everloop.access.credentials import doors
from everloop.access.state import Device
from everloop.app import Engine
from everloop.interfaces.http.security.middleware import Rules
from everloop.interfaces.http.security.rate_limit import Challenges, Knocks
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.log import Context
from everloop.running import Running

DAY_S = 86_400


class House:
    """Everything the routes depend on, stored as one value on the application."""

    def __init__(self, running: Running, rules: Rules, broadcast: Broadcast) -> None:
        self.running = running
        self.rules = rules
        self.broadcast = broadcast
        world = running.engine.world
        self.knocks = Knocks(world, running.settings.serve.tries_max)
        self.challenges = Challenges(world)

    @property
    def engine(self) -> Engine:
        """The engine."""
        return self.running.engine

    @property
    def paired_since_us(self) -> int:
        """Devices paired before this time have expired and must pair again."""
        lives_s = self.running.settings.serve.device_lives_days * DAY_S
        return self.engine.world.clock.now_us() - lives_s * 1_000_000

    def lets_in(self, device_id: str) -> bool:
        """Whether a device is still authorised: neither revoked nor expired."""
        device = doors(self.engine.log).devices.get(device_id)
        return device is not None and device.since_us >= self.paired_since_us


async def house(request: Request) -> House:
    """The dependencies of the application that serves this request."""
    return cast("House", request.app.state.dependencies)


async def device(request: Request) -> Device:
    """The authenticated device; the security middleware has rejected everybody else."""
    return cast("Device", request.state.device)


async def speaker(request: Request) -> Context:
    """The actor of this request: a paired device acts as the user."""
    paired: Device | None = request.state.device
    return Context(actor="user", session=paired.device_id if paired else "")


HouseDep = Annotated[House, Depends(house)]
DeviceDep = Annotated[Device, Depends(device)]
SpeakerDep = Annotated[Context, Depends(speaker)]
