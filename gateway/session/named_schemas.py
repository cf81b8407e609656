"""Statements as a client writes them, with the schema that ``public`` means in their place."""

from __future__ import annotations

from dataclasses import replace

from journal.model.schema import CatalogSnapshot
from rewriter.home_schema import PUBLIC_SCHEMA, in_home_schema, means_home
from rewriter.syntax.parsing import Parsed


def with_home_schema(parsed: Parsed, dialect: str, catalog: CatalogSnapshot) -> Parsed:
    """The statement for a store whose home schema has another name; often the same object."""
    if PUBLIC_SCHEMA not in parsed.text.lower():
        return parsed
    if not means_home(PUBLIC_SCHEMA, dialect, catalog):
        return parsed
    statement = in_home_schema(parsed.statement, catalog.home)
    if statement is parsed.statement:
        return parsed
    # The text names the plan in the cache, where one may stand of a schema that was there.
    return replace(parsed, statement=statement, text=f"{parsed.text} -- {catalog.home}")
