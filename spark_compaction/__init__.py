"""Jobs on sealed segments, run by Spark: planned and swapped by the process that owns a warehouse.

It knows the journal and nothing above it. Importing it loads no driver; pyspark is loaded only in
the worker's own process.
"""
