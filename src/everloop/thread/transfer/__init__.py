"""Importing conversations from other programs, and exporting them."""
