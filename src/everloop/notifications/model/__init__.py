"""The pure model of notifications: events, commands, state and decisions."""
