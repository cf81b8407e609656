"""Puts the client's folder before its paths, and the home schema for ``public``."""

from __future__ import annotations

from dataclasses import replace

from gateway.session.client_folder import in_folder
from journal.model.schema import CatalogSnapshot
from rewriter.syntax.home_schema import PUBLIC_SCHEMA, in_home_schema, means_home
from rewriter.syntax.parsing import Parsed


def with_home_schema(parsed: Parsed, dialect: str, catalog: CatalogSnapshot) -> Parsed:
    """The statement for a store whose home schema has another name; often the same object."""
    if PUBLIC_SCHEMA not in parsed.text.lower():
        return parsed
    if not means_home(PUBLIC_SCHEMA, dialect, catalog):
        return parsed
    statement = in_home_schema(parsed.statement, catalog)
    if statement is parsed.statement:
        return parsed
    # The text names the plan in the cache, where one may stand of a schema that was there.
    return replace(parsed, statement=statement, text=f"{parsed.text} -- {catalog.home}")


def as_meant(parsed: Parsed, folder: str | None, dialect: str, catalog: CatalogSnapshot) -> Parsed:
    """The statement of a client that works in a folder, if that is known; often the same object."""
    placed = parsed if folder is None else in_folder(parsed, folder)
    return with_home_schema(placed, dialect, catalog)
