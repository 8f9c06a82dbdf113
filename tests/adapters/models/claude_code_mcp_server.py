"""A fake of steipete/claude-code-mcp: one tool over standard input and output, as it has it."""

import json
import sys
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import TextContent

server: MCPServer[None] = MCPServer("claude_code", log_level="ERROR")


@server.tool(name="claude_code", structured_output=False)
def claude_code(prompt: str, workFolder: str = "") -> list[TextContent]:  # noqa: N803 - its name
    """Run Claude Code; here, note the call and answer."""
    Path(sys.argv[1]).write_text(json.dumps({"prompt": prompt, "workFolder": workFolder}))
    if "fail" in prompt:
        raise ValueError("Claude CLI is not logged in")
    return [TextContent(type="text", text="Four, said Claude Code.")]


if __name__ == "__main__":
    server.run()
