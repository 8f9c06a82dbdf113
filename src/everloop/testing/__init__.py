"""What tests need and extensions may use: throw-away engines, fakes. Nothing shipped imports it."""
