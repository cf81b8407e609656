"""Erasures as programs: accept, search, follow references, purge, complete."""
