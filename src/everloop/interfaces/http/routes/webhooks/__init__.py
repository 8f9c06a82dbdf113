"""Routes that other services call; each proves by a signature that it may."""
