"""SQLAlchemy's dialect suite, which ``test_sqlalchemy_suite`` runs in its own process."""
