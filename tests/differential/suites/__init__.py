"""What the comparisons over outside suites share: processes, causes of differences, the report."""
