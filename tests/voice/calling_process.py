"""A process that calls the user about what is in the inbox, until it is killed."""

import sys
from pathlib import Path

from everloop.app import Engine
from everloop.memory.settings import MemorySettings
from everloop.services import make_voice_service
from everloop.settings import Settings
from everloop.voice import CallTask, VoiceSettings


def main(home: str, api_url: str, account: str, auth: str) -> None:
    """Call about finished work, as the server does."""
    voice = VoiceSettings(
        account=account,
        auth_key=auth,
        callers="+15550100",
        number="+15550199",
        public_url="https://home.example.org",
        api_url=api_url,
        call_about="finished",
    )
    settings = Settings(home=home, memory=MemorySettings(embedder="none"), voice=voice)
    with Engine.open(Path(home), settings=settings) as engine:
        service = make_voice_service(engine, settings)
        task = CallTask(engine.log, engine.inbox, service, engine.ports.clock, voice)
        task.start()
        sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
