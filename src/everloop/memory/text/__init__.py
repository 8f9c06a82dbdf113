"""Text analysis: normalising, tokenising, stemming, spelling and passages."""
