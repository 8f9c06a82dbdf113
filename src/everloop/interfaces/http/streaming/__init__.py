"""Server-sent events: fan-out of new facts and answer text to clients."""
