"""Two runs side by side: which tables, what of the runs, matched by what; the rows that come out."""
