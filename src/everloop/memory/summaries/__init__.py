"""Summaries: compressing items into one, keeping it current, zooming back in."""
