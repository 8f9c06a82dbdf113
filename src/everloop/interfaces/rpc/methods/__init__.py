"""The JSON-RPC methods, one module per group."""
