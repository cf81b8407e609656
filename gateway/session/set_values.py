"""Evaluates the expressions of SET and USE to values of settings."""

from __future__ import annotations

from sqlglot import exp
from sqlglot.errors import SqlglotError

from gateway.config import Settings
from gateway.session.search_path import schemas_of
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import CatalogSnapshot, fold
from rewriter.dialect_semantics import semantics_of
from rewriter.name_resolution import (
    OWN_SCHEMAS,
    SYSTEM_SCHEMAS,
    is_database,
    means_home,
    position_of,
)

_NEVER_EMPTY = frozenset({"as_of", "system_versioning_asof", "timezone", "time_zone"})


def after_set(
    settings: Settings,
    name: str,
    value: exp.Expr | None,
    catalog: CatalogSnapshot,
    user: str | None,
) -> Settings:
    """Settings after a SET or USE of ``user``; None for the value sets the default.

    Raises UNKNOWN_SCHEMA in dialects in which a schema has to exist, and SETTING_VALUE.
    """
    if value is not None and name.lower() == "search_path":
        found = (_schema_meant(given, settings, catalog) for given in schemas_of(value, user))
        return settings.with_search_path(tuple(dict.fromkeys(found)))
    given = None if value is None else setting_text(value, catalog)
    if given == "" and name.lower() in _NEVER_EMPTY:
        raise PalimpsestError(
            Code.SETTING_VALUE,
            f"{name} needs a value, not ''",
            advice=f"RESET {name} takes back what was set",
        )
    if given == "" and name.lower() == "schema":
        if semantics_of(settings.dialect).schemas_are_there:
            return settings.with_setting(name, _schema_named(exp.table_(""), catalog))
        # Names are looked up in no schema at all, as with SET search_path = ''.
        return settings.with_search_path(("",))
    if name.lower() == "schema" and given:
        given = _schema_meant(given, settings, catalog)
    return settings.with_setting(name, given)


def after_text(
    settings: Settings, name: str, text: str, catalog: CatalogSnapshot, user: str | None
) -> Settings:
    """Settings of a client that gives a text for one as it connects, as ``after_set`` reads it.

    A ``search_path`` of ``hr, public`` is a list there, too. Raises SETTING_VALUE, UNKNOWN_SETTING.
    """
    if name.lower() == "search_path":
        return after_set(settings, name, exp.Literal.string(text), catalog, user)
    return settings.with_setting(name, text)


def _schema_meant(given: str, settings: Settings, catalog: CatalogSnapshot) -> str:
    """The schema that a name stands for, with its database before it or not."""
    if means_home(given, settings.dialect, catalog):
        return catalog.home
    if not given or not semantics_of(settings.dialect).schemas_are_there:
        return given
    try:
        parts = exp.to_table(given, dialect="duckdb")
    except (SqlglotError, ValueError):
        return _schema_named(exp.table_(given), catalog)
    return _schema_named(exp.table_(parts.name, db=parts.db or None), catalog)


def setting_text(value: exp.Expr, catalog: CatalogSnapshot) -> str:
    """The text a SET's value stands for: a literal's content, a name, or SQL for an expression.

    A table stands for the schema that USE names; raises UNKNOWN_SCHEMA if there is none such.
    """
    if isinstance(value, exp.Tuple):
        return ", ".join(setting_text(part, catalog) for part in value.expressions)
    if isinstance(value, exp.Table):
        return _schema_named(value, catalog)
    if value.is_string:
        return str(value.name)
    if value.key in {"literal", "column", "identifier", "var", "boolean"}:
        return str(value.name or value.sql())
    return str(value.sql(dialect="duckdb"))


def _schema_named(place: exp.Table, catalog: CatalogSnapshot) -> str:
    known = {**catalog.schemas, **{name: name for name in SYSTEM_SCHEMAS | OWN_SCHEMAS}}
    in_here = not place.db or is_database(place.db, catalog)
    if in_here and fold(place.name) in known:
        return known[fold(place.name)]
    if not place.db and is_database(place.name, catalog):
        return catalog.home
    raise PalimpsestError(
        Code.UNKNOWN_SCHEMA,
        f"there is no schema {place.sql()}",
        advice=f"the schemas are {', '.join(catalog.schemas.values())}",
        position=position_of(place),
    )
