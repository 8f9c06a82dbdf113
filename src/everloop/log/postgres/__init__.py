"""The PostgreSQL store: one server orders the log, each node keeps a local copy."""
