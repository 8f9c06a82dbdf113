"""Running a turn: scheduling, streaming from the model, calling tools."""
