"""Lineage of executed statements: noted as they commit, counted, and shown as a graph."""
