"""Access: device pairing, host tokens and passkeys. Which devices may act as the user."""
