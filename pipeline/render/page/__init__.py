"""The page: one HTML file with all rows, charts, and a tree of modules."""
