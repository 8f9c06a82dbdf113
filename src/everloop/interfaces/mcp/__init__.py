"""The MCP server: tools, resources and prompts for hosts. They can propose, not promote."""
