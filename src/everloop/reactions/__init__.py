"""Policies between domains that do not know each other."""
