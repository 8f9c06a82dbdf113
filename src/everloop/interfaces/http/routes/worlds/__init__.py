"""Routes of worlds: the library, the situation, the story, the simulation and its views."""
