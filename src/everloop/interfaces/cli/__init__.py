"""The command line.

`verbs.py` lists every command, `grammar.py` parses, `entry.py` carries out and gives the exit code.
A command's own module is loaded only when it was chosen, so `everloop --help` stays quick.
"""
