"""The telephone interface: Twilio ConversationRelay, mounted inside the HTTP server."""
