"""Conversation exports of other programs: ChatGPT, Claude, Claude Code, JSONL, zip."""
