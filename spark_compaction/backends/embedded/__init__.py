"""Maintenance programs of embedded warehouses."""
