"""Clauses that a store lacks, written in others that it has. Pure."""
