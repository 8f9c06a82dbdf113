"""The HTTP door: JSON and a stream of facts, for the web UI and for any client."""
