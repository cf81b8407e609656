"""Logic files: sqllogictest-style scripts of SQL with what each statement must give."""
