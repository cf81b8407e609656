"""Maintenance programs over segments: compaction, retention, restores, copies, swaps."""
