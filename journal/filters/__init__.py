"""Bloom filters of segment files: hashes of values, their sidecar, and what asks it."""
