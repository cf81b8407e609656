"""Finds what a client means by names: its folder, the home schema, variables and tables.

``SHOW t`` reads as the SHOW of a setting; in DuckDB's dialect it describes a table of that name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from sqlglot import exp

from gateway.config import Settings
from gateway.session.client_folder import in_folder
from gateway.session.function_calls import with_called_routine
from gateway.session.parameters import Given
from gateway.session.sequence_names import with_sequence_names
from gateway.session.variable_parameters import with_variables
from journal.model.schema import CatalogSnapshot, TableName
from rewriter.name_resolution import home_name, means_home
from rewriter.statement import Show, ShowSetting
from rewriter.syntax.home_schema import in_home_schema
from rewriter.syntax.parsing import Parsed


class MeaningSession(Protocol):
    """What of a session decides what names mean."""

    folder: str | None
    settings: Settings

    @property
    def catalog(self) -> CatalogSnapshot:
        """The catalog that statements see."""


def with_home_schema(parsed: Parsed, dialect: str, catalog: CatalogSnapshot) -> Parsed:
    """The statement for a store whose home schema has another name; often the same object."""
    name = home_name(dialect)
    if name is None or name not in parsed.text.lower() or not means_home(name, dialect, catalog):
        return parsed
    statement = in_home_schema(parsed.statement, name, catalog)
    if statement is parsed.statement:
        return parsed
    # The text names the plan in the cache, where one may stand of a schema that was there.
    return replace(parsed, statement=statement, text=f"{parsed.text} -- {catalog.home}")


def as_meant(session: MeaningSession, parsed: Parsed, given: Given) -> Parsed:
    """The statement of a client that works in a folder, if that is known; often the same object."""
    settings, catalog = session.settings, session.catalog
    placed = with_sequence_names(with_variables(parsed, given, settings), given)
    placed = placed if session.folder is None else in_folder(placed, session.folder)
    if isinstance(placed.statement, ShowSetting) and settings.dialect == "duckdb":
        placed = _with_table(placed, placed.statement, settings, catalog)
    called = with_called_routine(placed, catalog, settings)
    return with_home_schema(called, settings.dialect, catalog)


def _with_table(
    parsed: Parsed, statement: ShowSetting, settings: Settings, catalog: CatalogSnapshot
) -> Parsed:
    """SHOW of the table or view of that name, if there is one."""
    *schema, name = statement.name.split(".")
    own = () if catalog.own is None else (catalog.own,)
    places = schema[-1:] or [*own, *settings.search_path]
    if all(catalog.get(TableName(place, name)) is None for place in places):
        return parsed
    table = exp.table_(name, db=schema[-1] if schema else None, quoted=True)
    return replace(parsed, statement=Show("COLUMNS", table))
