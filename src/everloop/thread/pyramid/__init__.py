"""The temporal pyramid: summaries of days, weeks, months and years."""
