"""Embedding models: the bundled one, endpoints and fastembed."""
