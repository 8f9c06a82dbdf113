"""Reading: the visible part of a branch, projections and folded state."""
