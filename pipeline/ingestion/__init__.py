"""Sources into the warehouse: how they are read, several at once, each a run."""
