"""The canonical dialect in PostgreSQL's words: text, types, functions, formats. Runs nothing."""
