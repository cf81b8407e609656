"""The append-only truth: catalog, versions, transactions, segments, and the stores they live in.

Importing the package loads no driver; each store's driver is imported in its one adapter.
"""
