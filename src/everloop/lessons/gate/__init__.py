"""The promotion gate: its checks, and the evidence that they examine."""
