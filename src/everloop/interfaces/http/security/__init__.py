"""Security of the HTTP interface: request checks, credentials, rate limits."""
