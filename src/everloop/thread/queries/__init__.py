"""Queries over conversations: threads, messages, notes, branches and files."""
