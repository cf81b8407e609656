"""Maintenance of journals in PostgreSQL, by set-based SQL inside the server."""
