"""Maintenance programs of each kind of store."""
