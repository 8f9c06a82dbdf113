"""Memory as a folder of Markdown pages: export, edit, import."""
