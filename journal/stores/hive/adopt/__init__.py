"""Plain tables and folders of Parquet files become journals, and plain tables again."""
