"""PostgreSQL's system catalog of a warehouse, as drivers and tools read it."""
