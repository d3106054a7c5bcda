"""The SQL files as typed objects: parsed, checked, ordered, installed, documented."""
