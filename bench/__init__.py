"""Benchmarks: one script per question, ratios against peers in the same run; never a test."""
