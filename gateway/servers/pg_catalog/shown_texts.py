"""Queries and defaults as PostgreSQL shows them: without the home schema before a name. Pure."""

from __future__ import annotations

import re

from sqlglot import exp

from journal.model.schema import fold
from journal.sql import dialects

_NEXTVAL = re.compile(r"\bNEXTVAL\('([^']+)'\)", re.IGNORECASE)


def shown_query(text: str, home: str) -> str:
    """The query of a view, with names of the home schema alone."""
    if fold(home) not in fold(text):
        return text
    tree = dialects.stored(text)
    for node in tree.find_all(exp.Table, exp.Column):
        schema = node.args.get("db")
        if schema is None or fold(schema.name) != fold(home):
            continue
        node.set("db", None)
        if isinstance(node, exp.Table) and node.alias == node.name:
            node.set("alias", None)
    return tree.sql(dialect="duckdb")


def shown_default(text: str, home: str) -> str:
    """The expression of a default; tools know one of a sequence by ``nextval('s'::regclass)``."""

    def called(found: re.Match[str]) -> str:
        schema, _, name = found[1].rpartition(".")
        shown = name if fold(schema) in {"", fold(home)} else found[1]
        return f"nextval('{shown}'::regclass)"

    return _NEXTVAL.sub(called, text)
