"""The memory domain: events, commands, state and decisions. Pure."""
