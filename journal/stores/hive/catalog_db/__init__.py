"""The catalog database of a Hive store: SQLite in a file, or a PostgreSQL server's."""
