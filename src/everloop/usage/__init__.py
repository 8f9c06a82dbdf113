"""Usage: one recorder of what calls of models cost, in tokens, money and time."""
