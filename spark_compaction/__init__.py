"""Jobs on sealed segments with Spark: plan, stage, verify, report. Holds no module yet.

It will know the journal and nothing above it, and importing it will never load pyspark.
"""
