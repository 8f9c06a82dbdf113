"""Writes `openapi.json`, the description of the HTTP API that the typed client is made from."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import httpx

from everloop.access import pairing
from everloop.app import USER, Engine
from everloop.interfaces.http.app import build_application
from everloop.services import Services
from everloop.settings import Settings

PLACE = Path(__file__).with_name("openapi.json")


def described() -> str:
    """The description as JSON."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings()
        with Engine.open(home, settings=settings) as engine:
            code = pairing.make_pairing_code(engine.log, engine, engine.ports, USER, lives_s=60)
            credential = pairing.pair_device(engine, engine.ports, "openapi", way="code", via=code)
            running = Services(engine, settings)
            told = asyncio.run(_asked(running, credential.text))
    return json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


async def _asked(running: Services, credential: str) -> Any:
    transport = httpx.ASGITransport(app=build_application(running))
    headers = {"authorization": f"Bearer {credential}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=headers
    ) as client:
        answer = await client.get("/openapi.json")
    answer.raise_for_status()
    return answer.json()


if __name__ == "__main__":
    PLACE.write_text(described())
