"""Commands on devices, hosts, hooks and installation."""
