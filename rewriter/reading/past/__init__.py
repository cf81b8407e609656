"""Versions of rows: what was current at a time, what changed, and in which statement."""
