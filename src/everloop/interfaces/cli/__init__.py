"""The command line.

`parsing/command_table.py` lists every command, `parsing/parser.py` parses, and `entry.py` runs the
command and returns the exit code. The module of a command is loaded only when that command runs, so
`everloop --help` stays fast.
"""
