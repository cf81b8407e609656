"""What DuckDB's dialect means otherwise than PostgreSQL, on a store that is one."""
