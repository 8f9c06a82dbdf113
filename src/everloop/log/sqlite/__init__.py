"""The SQLite file of a log: connections and errors."""
