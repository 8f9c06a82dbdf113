"""Write `openapi.json`: what the engine says about its own HTTP door, for the typed client."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import httpx
from everloop.running import Running

from everloop.access import credentials
from everloop.app import USER, Engine
from everloop.interfaces.http.app import application
from everloop.settings import Settings

PLACE = Path(__file__).with_name("openapi.json")


def described() -> str:
    """The description, as it is kept beside the web pages."""
    with tempfile.TemporaryDirectory() as home:
        settings = Settings()
        with Engine.open(home, settings=settings) as engine:
            code = credentials.new_code(engine.log, engine.do, engine.world, USER, lives_s=60)
            credential = credentials.pair(engine.do, engine.world, "openapi", way="code", via=code)
            running = Running(engine, settings)
            told = asyncio.run(_asked(running, credential.text))
    return json.dumps(told, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


async def _asked(running: Running, credential: str) -> Any:
    transport = httpx.ASGITransport(app=application(running))
    headers = {"authorization": f"Bearer {credential}"}
    async with httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1", headers=headers
    ) as client:
        answer = await client.get("/openapi.json")
    answer.raise_for_status()
    return answer.json()


if __name__ == "__main__":
    PLACE.write_text(described())
