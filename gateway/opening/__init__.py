"""URLs, and the journals they name opened in this process: folders, databases, Hive servers."""
