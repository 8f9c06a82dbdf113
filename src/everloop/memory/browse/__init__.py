"""Browsing memory: lists, item history, pins and snippets."""
