"""Our own JSON of worlds, scenes and characters: its format, and writing it."""
