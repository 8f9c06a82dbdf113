"""Near-duplicate detection: what new text repeats, varies or contradicts."""
