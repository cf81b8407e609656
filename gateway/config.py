"""Settings: of the process when it opens a warehouse, and of a session while it lasts.

Each has a default, a type and one line that says what it is; ``system.settings`` shows them.
"""

from __future__ import annotations

import re
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any

from sqlglot import exp

from gateway.session.search_path import schemas_of
from journal.model.errors import Code, PalimpsestError
from journal.model.schema import DEFAULT_SCHEMA, CatalogSnapshot, fold
from rewriter.limits import Limits
from rewriter.name_resolution import OWN_SCHEMAS, SYSTEM_SCHEMAS, is_database, position_of


def _setting(default: Any, about: str) -> Any:
    return field(default=default, metadata={"about": about})


@dataclass(frozen=True, slots=True)
class Settings:
    """What SET changes; a frozen value, replaced whole."""

    schema: str = _setting(DEFAULT_SCHEMA, "schema of names without one")
    as_of: str | None = _setting(None, "point in time the whole connection reads; empty: now")
    commit_message: str | None = _setting(None, "message recorded with the next commits")
    application: str | None = _setting(None, "application name recorded with commits")
    retries: int = _setting(10, "how often an autocommit statement is tried again on a conflict")
    flush_rows: int = _setting(250_000, "rows in a head after which it is sealed; 0: never")
    memory_rows: int = _setting(50_000, "rows a statement may buffer; above, they go to a file")
    max_statement_chars: int = _setting(16_000_000, "longest statement, in characters")
    max_nesting_depth: int = _setting(100, "deepest nesting of parentheses")
    max_list_items: int = _setting(100_000, "most rows of VALUES, most items of an IN list")
    job_engine: str = _setting("auto", "where jobs run: spark, local, or auto by size")
    spark_master: str = _setting("local[*]", "Spark master of jobs")
    partial_history: int = _setting(0, "1: read a past whose versions a policy has removed")
    suppressed_rows: str = _setting("refuse", "erased rows of bulk loads: refuse all, or skip them")
    timezone: str | None = _setting(None, "time zone in which timestamps are read and shown")
    home: str = DEFAULT_SCHEMA
    """The default schema of the store; not a setting."""
    path: tuple[str, ...] = ()
    """All schemas of ``search_path``, where that names several; ``schema`` is the first."""

    def in_home_schema(self, schema: str) -> Settings:
        """These settings in a store with another default schema."""
        moved = schema if self.schema == self.home else self.schema
        return replace(self, schema=moved, home=schema)

    @property
    def limits(self) -> Limits:
        """The limits of a statement."""
        return Limits(self.max_statement_chars, self.max_nesting_depth, self.max_list_items)

    @property
    def search_path(self) -> tuple[str, ...]:
        """The schemas, in order, that the gateway searches for names without one."""
        return self.path or (self.schema,)

    def with_search_path(self, schemas: tuple[str, ...]) -> Settings:
        """These settings with another ``search_path``."""
        return replace(self, schema=schemas[0], path=schemas)

    def with_setting(self, name: str, value: Any) -> Settings:
        """A copy with one setting changed; None sets its default."""
        key = _ALIASES.get(name.lower(), name.lower())
        known = {f.name: f for f in _settable()}
        if key not in known:
            raise PalimpsestError(
                Code.UNKNOWN_SETTING,
                f'there is no setting "{name}"',
                advice="SELECT * FROM system.settings lists them",
            )
        if value is None:
            return self._replaced(key, self.home if key == "schema" else known[key].default)
        if "int" in str(known[key].type):
            try:
                number = int(value)
            except (TypeError, ValueError):
                number = -1
            if number < 0:
                raise PalimpsestError(
                    Code.SETTING_VALUE,
                    f"{key} needs a whole number, not {value!r}",
                    advice="give 0 or more",
                )
            return self._replaced(key, number)
        if key == "suppressed_rows" and str(value).lower() not in _SUPPRESSED:
            raise PalimpsestError(
                Code.SETTING_VALUE,
                f"{key} is refuse or skip, not {value!r}",
                advice="skip leaves out rows that were erased, and counts them",
            )
        if key == "suppressed_rows":
            return self._replaced(key, str(value).lower())
        if key == "timezone":
            return self._replaced(key, zone_name(str(value)))
        return self._replaced(key, str(value) or None)

    def _replaced(self, key: str, value: Any) -> Settings:
        change: dict[str, Any] = {key: value}
        if key == "schema":
            change["path"] = ()
        return replace(self, **change)

    def rows(self) -> list[tuple[str, str | None, str]]:
        """Name, value and meaning of each setting."""
        found = []
        for entry in _settable():
            value = getattr(self, entry.name)
            shown = None if value is None else str(value)
            found.append((entry.name, shown, str(entry.metadata["about"])))
        return found


def _settable() -> list[Field[Any]]:
    return [f for f in fields(Settings) if "about" in f.metadata]


def zone_name(text: str) -> str | None:
    """The name of a time zone, or of an offset of whole hours; None: that of the process."""
    if text.upper() in {"", "LOCAL", "DEFAULT", "SYSTEM"}:
        return None
    offset = _OFFSET.fullmatch(text)
    if offset is None:
        return text
    hours = int(offset[2])
    # In names of this kind the sign says how far Greenwich is behind.
    return "UTC" if not hours else f"Etc/GMT{'-' if offset[1] == '+' else '+'}{hours}"


_SUPPRESSED = ("refuse", "skip")
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?00)?")
_ALIASES = {
    "search_path": "schema",
    "application_name": "application",
    "system_versioning_asof": "as_of",
    "time_zone": "timezone",
}


def after_set(
    settings: Settings,
    name: str,
    value: exp.Expr | None,
    catalog: CatalogSnapshot,
    user: str | None,
) -> Settings:
    """Settings after a SET or USE of ``user``; None for the value sets the default."""
    if value is not None and name.lower() == "search_path":
        return settings.with_search_path(schemas_of(value, user))
    return settings.with_setting(name, None if value is None else setting_text(value, catalog))


def setting_text(value: exp.Expr, catalog: CatalogSnapshot) -> str:
    """The text a SET's value stands for: a literal's content, a name, or SQL for an expression.

    A table stands for the schema that USE names; raises UNKNOWN_SCHEMA if there is none such.
    """
    if isinstance(value, exp.Table):
        return _schema_named(value, catalog)
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
