"""Commands on memory: remember, recall, browse, revise, forget."""
