"""One module per source format. Each offers `NAME`, `detect(head)` and `extract(path, report, progress)`."""
