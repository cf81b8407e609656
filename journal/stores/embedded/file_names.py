"""Names of files in the folder of a warehouse."""

from __future__ import annotations

DATABASE_FILE = "palimpsest.duckdb"
"""Catalog, heads and views."""
