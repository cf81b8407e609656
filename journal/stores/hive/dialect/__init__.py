"""The canonical dialect in the words of Spark and of Apache Hive. Runs nothing."""
