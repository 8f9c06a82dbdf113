"""Adapters: implementations of the ports for models, files, processes and the machine."""
