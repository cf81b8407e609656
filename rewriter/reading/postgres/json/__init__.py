"""Documents of PostgreSQL: json and jsonb, their operators, functions and paths."""
