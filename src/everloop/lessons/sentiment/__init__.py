"""Feedback that a user's own words hold: noticed, weighed, and taken only where it is clear."""
