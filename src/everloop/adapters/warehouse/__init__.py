"""Copies of the log for analysis: BigQuery and Parquet."""
