"""Integrity: verifying digests, detecting a truncated log, rebuilding views."""
