"""Hybrid retrieval: by words and by vectors, fused into one explained ranking."""
