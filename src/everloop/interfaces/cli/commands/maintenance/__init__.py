"""Maintenance commands: doctor, backup, restore, verify, demo, tour."""
