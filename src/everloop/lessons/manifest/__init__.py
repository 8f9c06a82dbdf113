"""The manifest: what a host's model is told at the start of a turn."""
