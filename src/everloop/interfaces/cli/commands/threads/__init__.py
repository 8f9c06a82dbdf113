"""Commands on conversations: chat, browse, import, export."""
