"""Importing and exporting characters, lorebooks, chats and whole worlds."""
