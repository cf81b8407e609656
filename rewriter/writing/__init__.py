"""Changes: the rows a statement brings or chooses, and the journal rows and guards they make."""
