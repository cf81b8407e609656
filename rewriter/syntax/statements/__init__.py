"""Statements that sqlglot does not parse, or parses as something else: read from their tokens."""
