"""Maintenance of journals behind HiveServer2, whose statements run in Spark."""
