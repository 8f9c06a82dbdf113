"""Maintenance of a log file: checkpoints, backups and scrubbing after a purge."""
