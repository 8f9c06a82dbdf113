"""Terminal output: tables, JSON, times, errors and exit codes."""
