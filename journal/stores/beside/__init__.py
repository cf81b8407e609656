"""The catalog of a store without transactions, in a database beside it (SQLAlchemy)."""
