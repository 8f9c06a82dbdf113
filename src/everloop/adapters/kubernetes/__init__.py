"""Tasks as Kubernetes Jobs; extra `kubernetes`."""
