"""What PostgreSQL's dialect means otherwise than the store, in words of the store."""
