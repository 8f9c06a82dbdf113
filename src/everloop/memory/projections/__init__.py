"""Memory tables and the one query layer that checks who may see an item."""
