"""One adapter per kind of store behind the protocols of ``journal.stores.base``."""
