"""One adapter per kind of store behind ``journal.transactions.protocol``."""
