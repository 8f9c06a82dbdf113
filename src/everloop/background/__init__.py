"""Background work: tasks that one process at a time runs for each log."""
