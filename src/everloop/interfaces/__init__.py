"""The doors. Each turns a request into a command or a query, and a result into its own format."""
