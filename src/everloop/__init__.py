"""Everloop: a local-first home for long-lived AI, on one append-only log that you own."""

__version__ = "0.1.0"
