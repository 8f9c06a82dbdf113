"""Running commands as child processes."""
