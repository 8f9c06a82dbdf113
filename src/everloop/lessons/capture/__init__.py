"""Capture: what others wrote down or said, put forward as lessons. It proposes, and no more."""
