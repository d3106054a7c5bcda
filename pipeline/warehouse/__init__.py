"""The warehouse folder: Parquet partitions, and a DuckDB database of views over them."""
