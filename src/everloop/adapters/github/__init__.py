"""GitHub's REST interface, pushes of branches, and the secrets for both."""
