"""Lessons: what agents propose, what the gate lets through, and what a host's model is shown."""
