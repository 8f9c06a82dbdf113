"""Routing: suggests to send a message of a thread to the running task that it belongs to."""
