"""The JSON-RPC door: loop-engine's methods, shapes and error codes, over lines of JSON.

It turns a request into a command or a query, and an answer into a line. `docs/rpc.md` tells hosts
what they can ask, and where the answers differ from loop-engine's on purpose.
"""
