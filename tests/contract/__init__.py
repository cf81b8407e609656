"""What outside contracts ask for: PEP 249 and SQLAlchemy's dialect suite."""
