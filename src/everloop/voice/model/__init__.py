"""The pure model of telephone calls: events, commands, state and decisions."""
