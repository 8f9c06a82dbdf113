"""Reproducible randomness for tests: every random choice comes from a printed seed."""

import random  # noqa: TID251 - seeded by the caller; nothing here is a secret or a decision


class SeededRandom(random.Random):
    """A seeded random generator."""

    def happens(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability
