"""Test support for Everloop and its extensions: fakes, faulty disks, a throw-away PostgreSQL."""
