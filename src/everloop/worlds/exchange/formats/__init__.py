"""File formats of roleplay programs: character cards, lorebooks, chats. Bytes in, values out."""
