"""Significance of what was said, 0 to 3: by a classifier model, or by rules without one."""
