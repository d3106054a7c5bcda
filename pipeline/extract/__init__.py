"""Sources to batches of raw tables. Knows formats; knows no SQL and no view."""
