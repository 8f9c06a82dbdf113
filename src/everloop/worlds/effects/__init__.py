"""What follows from play: effects of turns, summaries of scenes, off-stage memories, openings."""
