"""The thread: one conversation on every device, with memory for years."""
