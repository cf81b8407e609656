"""Clauses and functions that servers lack, written out in SQL that they have. Pure."""
