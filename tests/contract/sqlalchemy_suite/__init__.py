"""SQLAlchemy's dialect compliance suite, run by ``test_sqlalchemy_suite`` in a process of its own."""
