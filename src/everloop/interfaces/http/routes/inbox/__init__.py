"""Routes of the inbox, and of push messages about it."""
