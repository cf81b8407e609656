"""A rewrite shown without running it, over tables that are there or supposed."""
