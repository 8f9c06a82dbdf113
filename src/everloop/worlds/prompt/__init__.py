"""The prompt of a world: what one speaker may be told, in segments with their sources."""
