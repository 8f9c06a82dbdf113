"""The JSON-RPC server: loop-engine's methods, shapes and error codes, over newline-delimited JSON.

It turns a request into a command or a query, and the result into a line. `docs/rpc.md` lists the
methods, and where the results differ from loop-engine's on purpose.
"""
