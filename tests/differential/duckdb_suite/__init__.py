"""DuckDB's own test suite as an oracle: its records on plain DuckDB and on the gateway."""
