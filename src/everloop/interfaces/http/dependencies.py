"""What routes need: the engine at work, and who asks. Both come with the request.

What gives them is `async` although it waits for nothing: anything else would be sent to a thread.
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
    """All of it, as one value on the application."""

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
        """Whoever was let in before this moment must be paired anew."""
        lives_s = self.running.settings.serve.device_lives_days * DAY_S
        return self.engine.world.clock.now_us() - lives_s * 1_000_000

    def lets_in(self, device_id: str) -> bool:
        """Whether a device is let in still: neither revoked nor too old."""
        device = doors(self.engine.log).devices.get(device_id)
        return device is not None and device.since_us >= self.paired_since_us


async def house(request: Request) -> House:
    """The house that this request came to."""
    return cast("House", request.app.state.house)


async def device(request: Request) -> Device:
    """The device that asks. The shield has let nobody else through."""
    return cast("Device", request.state.device)


async def speaker(request: Request) -> Context:
    """Who speaks: a device that is let in speaks as the user."""
    known: Device | None = request.state.device
    return Context(actor="user", session=known.device_id if known else "")


HouseDep = Annotated[House, Depends(house)]
DeviceDep = Annotated[Device, Depends(device)]
SpeakerDep = Annotated[Context, Depends(speaker)]
