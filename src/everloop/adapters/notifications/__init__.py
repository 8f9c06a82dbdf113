"""Ways to tell a person something: web push, a webhook, mail."""
