"""Files: attachments, Markdown folders, front matter, packs and the settings file."""
