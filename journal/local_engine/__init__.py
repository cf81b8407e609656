"""DuckDB as an engine: sessions, rows, errors. What its files mean is said above it."""
