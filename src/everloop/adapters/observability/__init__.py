"""What operators see from outside: metrics."""
