"""Capture: proposes lessons from notes, memory files and transcripts. It never promotes any."""
