"""Tables that a database has already become journals, and plain tables again."""
