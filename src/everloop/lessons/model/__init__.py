"""The lessons domain: events, commands, state and lifecycle. Pure."""
