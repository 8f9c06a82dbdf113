"""Request and response bodies that several routes share."""
