"""The conversation domain: events, commands, state and decisions. Pure."""
