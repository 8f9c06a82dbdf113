"""The manifest: the context block that a host's model gets at the start of a turn."""
