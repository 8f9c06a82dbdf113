"""The pure model of issues, pull requests, their checks and comments."""
