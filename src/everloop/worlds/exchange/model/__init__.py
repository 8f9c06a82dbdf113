"""Imports of worlds in the log: their events, commands and decisions."""
