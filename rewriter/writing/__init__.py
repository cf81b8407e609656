"""Change sets: the rows that a statement writes, and the journal rows and guards that follow."""
