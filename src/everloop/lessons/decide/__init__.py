"""Decisions about lessons: pure functions from state and command to events."""
