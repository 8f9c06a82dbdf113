"""Parsing the command line: the table of commands and their arguments."""
