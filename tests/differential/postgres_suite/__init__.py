"""Compares the gateway with a plain PostgreSQL over scripts of psql."""
