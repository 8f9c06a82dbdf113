"""The HTTP API: JSON routes and a server-sent event stream, for the web UI and other clients."""
