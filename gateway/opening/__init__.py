"""Opens the journals that a URL names, once a process: folders, databases, Hive servers."""
