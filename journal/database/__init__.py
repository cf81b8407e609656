"""Journals in a database server that several gateways share; see ``journal.database.journal``."""
