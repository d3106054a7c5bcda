"""Alignment of sequences and trees, and the SQL function that pairs by it. Knows nothing about what it aligns."""
