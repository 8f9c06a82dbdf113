"""Looking at a world from outside the story: its course, relationships, knowledge and branches."""
