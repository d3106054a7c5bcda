"""Parquet partitions and the DuckDB warehouse over them."""
