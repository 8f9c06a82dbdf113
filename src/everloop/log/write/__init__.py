"""Appending: group commit, one transaction for many callers, hash-chained records."""
