"""Journals in Hive: rows in Parquet tables behind a SQL server, their catalog in a database."""
