"""Memory: items, who may see them, and a recall that finds them and says why."""
