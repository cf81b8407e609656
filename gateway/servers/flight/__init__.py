"""The server of Arrow Flight SQL: statements and metadata in, record batches out."""
