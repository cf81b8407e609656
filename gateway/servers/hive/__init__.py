"""Speaks HiveServer2's protocol: its messages, its login, results by columns, metadata."""
