"""Stores under test: one module a kind, which says what it can do and how a test reaches into it.

``tests/contract/store`` runs over all of them.
"""
