"""What the user orders once and holds until they take it back: schedules, watches, start rules."""
