"""The pure model of schedules, watches and start rules."""
