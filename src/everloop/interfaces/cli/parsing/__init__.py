"""Command-line parsing: the table of commands, their arguments, and the parser built from it."""
