"""Chance that can be repeated: every random choice of a test comes from a seed that is printed."""

import random  # noqa: TID251 - seeded by the caller; nothing here is a secret or a decision


class Chance(random.Random):
    """A seeded source of choices."""

    def happens(self, probability: float) -> bool:
        """Whether something of this probability happens."""
        return self.random() < probability
