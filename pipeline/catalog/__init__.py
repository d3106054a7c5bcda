"""The SQL files as typed objects: parses, checks, orders, installs and documents them."""
