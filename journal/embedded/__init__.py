"""The embedded warehouse: journals in a folder of DuckDB and Parquet, open in one process."""
