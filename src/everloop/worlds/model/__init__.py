"""The model of worlds: events, commands, state and decisions. Pure."""
