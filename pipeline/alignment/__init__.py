"""Alignment of sequences and of trees, and the function in SQL that pairs by it. Knows nothing of what is aligned."""
