"""Events, records and branches: the values that the log stores."""
