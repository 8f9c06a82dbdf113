"""Lesson tables and their queries; every read says who asks."""
