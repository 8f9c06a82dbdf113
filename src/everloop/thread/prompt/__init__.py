"""The prompt of a turn: assembling it within a token budget, and inspecting it."""
