"""Everloop as a service of the operating system: systemd on Linux, launchd on macOS."""
