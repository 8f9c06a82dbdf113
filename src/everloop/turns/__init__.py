"""Turns: one call of a model with its tools, streamed and recorded step by step, for any domain."""
