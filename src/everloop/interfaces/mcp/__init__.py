"""The MCP server: what a model's host may ask and say. It can propose; it cannot promote."""
