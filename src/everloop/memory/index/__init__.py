"""The in-memory search index: passages, visibility masks, posting lists and vectors."""
