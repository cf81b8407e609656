"""Bloom filters of segment files: hashes, the sidecar beside the files, what asks it."""
