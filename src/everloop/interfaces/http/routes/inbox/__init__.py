"""Routes of the inbox, and of push messages and telephone calls about it."""
