"""Lessons: rules that agents propose, the promotion gate, and the manifest that hosts are shown."""
