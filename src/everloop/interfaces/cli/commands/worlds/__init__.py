"""Commands of worlds."""
