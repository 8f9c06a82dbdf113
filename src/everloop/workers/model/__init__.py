"""The pure model of tasks: events, commands, state and decisions."""
