"""Dates and times in questions: parsing "last Tuesday" into intervals."""
