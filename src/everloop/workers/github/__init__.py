"""GitHub: issues become tasks, branches draft pull requests, checks and comments follow-ups."""
