"""Declarations for tests of entities."""

from __future__ import annotations

from gateway.governance.declarations import Declaration


def dataset(table: str, **more: str) -> Declaration:
    """A daily dataset over a table, which is named like it."""
    fields = {"kind": "dataset", "name": table, "table": table, "every": "1 day"}
    return Declaration({**fields, "start": "2013-01-01", **more})
