"""The crew: skills, personas and teams that a host's model can use, and packs that bring them."""
