"""Changing history without losing it: fork, rewind, retract, purge, and previews of each."""
