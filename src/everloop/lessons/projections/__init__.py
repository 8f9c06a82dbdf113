"""Lesson tables and their queries; every query filters by the asker's audience."""
