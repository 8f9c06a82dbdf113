"""A year of a fictional person: conversations, memories and lessons to look around in."""
