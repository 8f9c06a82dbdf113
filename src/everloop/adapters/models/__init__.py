"""Language models: providers, discovery, fallback, streaming and prices."""
