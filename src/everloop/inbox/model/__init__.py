"""The pure model of the inbox: events, commands, state and decisions."""
