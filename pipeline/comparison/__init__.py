"""Two runs side by side: chooses tables and scopes, and how operators match; returns the rows."""
