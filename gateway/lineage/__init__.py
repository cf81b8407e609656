"""Lineage of executed statements: recorded at commit, counted, and shown as a graph."""
