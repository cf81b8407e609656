"""Journals in a folder: a DuckDB file with catalog and heads, Parquet segments beside it."""
