"""DuckDB under the embedded warehouse: sessions, layout, and the catalog inside it."""
