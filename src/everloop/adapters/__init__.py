"""Ports implemented."""
