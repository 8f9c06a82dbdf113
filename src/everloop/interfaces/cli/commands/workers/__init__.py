"""Commands of workers and the inbox."""
