"""Access: which devices may speak as the user, and how they came to it."""
