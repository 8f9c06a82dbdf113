"""Feedback found in a user's own words: detection, classification, attribution.

Its events, settings and channel are named `sentiment` on the wire.
"""
