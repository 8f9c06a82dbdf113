"""Runners of tasks: a command, Claude Code; with their environment, sandbox and worktrees."""
