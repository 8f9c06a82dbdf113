"""Commands on the log: read, write, export, import, purge."""
