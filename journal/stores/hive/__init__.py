"""Spark and Hive through PyHive: connections, SQL in both dialects, tables of segments."""
