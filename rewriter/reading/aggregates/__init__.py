"""Queries whose aggregates are split into those of a base and of its changes."""
