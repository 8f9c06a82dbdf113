"""Moving logs: archives, other stores, warehouses and restored backups."""
