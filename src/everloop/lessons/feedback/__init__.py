"""Feedback found in a user's own words: detection, classification, attribution."""
