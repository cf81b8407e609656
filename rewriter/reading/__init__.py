"""Queries: each logical table in them becomes the relation that shows its rows. Writes nothing."""
