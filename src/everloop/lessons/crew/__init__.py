"""Skills, personas and teams: what a host's model is told that it can do, be and belong to."""
