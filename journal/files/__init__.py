"""Files: staged and synced, on this machine and in object storage, as Parquet, with filters."""
