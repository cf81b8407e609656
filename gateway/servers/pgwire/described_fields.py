"""Columns of a statement's rows as the protocol describes them, with the tables they are from.

Drivers change rows in place by the number of the table and of the column. A column that is a
table's has the type that it was declared with, where its values are sent alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from gateway.servers.pg_catalog.numbering import relation_oid
from gateway.servers.pg_catalog.user_types import UserDefinitions
from gateway.servers.pgwire.any_numbers import shown_number
from gateway.servers.pgwire.messages import Field
from gateway.servers.pgwire.portals import PreparedStatement
from gateway.servers.pgwire.spelled_outputs import as_spelled, outputs_of
from gateway.servers.pgwire.types import (
    BPCHAR,
    HEADER,
    JSON,
    NUMERIC,
    OID,
    VARCHAR,
    VARCHARS,
    field_of,
    text_field,
)
from gateway.session.description import origins_of
from gateway.session.session import Session
from journal.model.errors import PalimpsestError
from journal.model.result_column import ResultColumn
from journal.model.schema import CatalogSnapshot, Table, fold
from journal.sql.text_lengths import text_lengths
from rewriter.reading.column_origins import ColumnOrigin, Columns
from rewriter.reading.taken_types import AS_WRITTEN
from rewriter.statement import SqlStatement
from rewriter.syntax.parsing import Parsed

_KEPT = 256


def filled_up(batch: pa.RecordBatch, fields: Sequence[Field]) -> pa.RecordBatch:
    """The rows with texts of CHAR(n) as long as that, by blanks behind them."""
    for place, field in enumerate(fields):
        column = batch.column(place)
        if field.oid == BPCHAR and field.modifier > HEADER and pa.types.is_string(column.type):
            texts = pc.utf8_rpad(column, width=field.modifier - HEADER, padding=" ")
            batch = batch.set_column(place, batch.schema.field(place), texts)
    return batch


_SPELLED = {"varchar": VARCHAR, "varchar[]": VARCHARS}
_SENT_AS = {
    (JSON.oid, "JSON"): AS_WRITTEN,
    **{(OID.oid, whole): "OID" for whole in ("SMALLINT", "INTEGER", "UINTEGER", "BIGINT")},
}
"""By the number that a client was told and the store's type: the type that values are sent as."""


_WITH_DIGITS = (
    *(exp.Column, exp.Cast, exp.Case, exp.Coalesce, exp.Greatest, exp.Least),
    *(exp.Subquery, exp.Literal),
)
"""What has the digits of a NUMERIC in PostgreSQL, as its parts have, or as it says."""


_NUMERICS = (NUMERIC.oid, NUMERIC.array)


def _without_computed_digits(fields: list[Field], ast: exp.Expr) -> list[Field]:
    """The columns of a SELECT, of which a NUMERIC that is computed tells no digits."""
    values = outputs_of(ast, len(fields))
    if not values:
        return fields
    return [
        replace(f, modifier=-1) if f.oid in _NUMERICS and not isinstance(v, _WITH_DIGITS) else f
        for f, v in zip(fields, values, strict=True)
    ]


class DescribedFields:
    """What one client is told of columns; remembers what it has found out of statements."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._seen: CatalogSnapshot | None = None
        self._known: dict[tuple[object, ...], Columns | None] = {}

    def fields(self, statement: PreparedStatement, columns: Sequence[ResultColumn]) -> list[Field]:
        """The columns of a statement's rows."""
        shown = shown_number(self._session)
        named = statement.named(columns)
        found = [field_of(ResultColumn(column.name, shown(column.type))) for column in named]
        if statement.parsed is None or not isinstance(statement.parsed.statement, SqlStatement):
            return found
        ast = statement.parsed.statement.ast
        found = _without_computed_digits(found, ast)
        found = as_spelled(found, ast, statement.oids, self._enum_number)
        origins = self._origins(statement.parsed)
        if origins is None or len(origins) != len(found):
            return found
        pairs = list(zip(found, origins, strict=True))
        if any(o.origin is not None and fold(o.name) != fold(f.name) for f, o in pairs):
            return found
        return [f if o.origin is None else self._of_table(f, o.origin) for f, o in pairs]

    def sent_types(self, fields: Sequence[Field], columns: Sequence[ResultColumn]) -> list[str]:
        """The types by which values are written: those of the columns, but for what is json."""
        shown = shown_number(self._session)
        return [
            _SENT_AS.get((field.oid, column.type)) or shown(column.type)
            for field, column in zip(fields, columns, strict=True)
        ]

    def _enum_number(self, name: str) -> int | None:
        transaction = self._session.transaction
        catalog = self._session.catalog if transaction is None else transaction.catalog
        return UserDefinitions(catalog).enum_number(name)

    def _origins(self, parsed: Parsed) -> Columns | None:
        session = self._session
        transaction = session.transaction
        catalog = session.catalog if transaction is None else transaction.catalog
        if self._seen is not catalog or len(self._known) > _KEPT:
            self._seen = catalog
            self._known.clear()
        key = (parsed.text, session.settings.search_path, session.settings.role)
        if key not in self._known:
            try:
                self._known[key] = origins_of(session, parsed)
            except PalimpsestError:
                # What is wrong with a statement, it says when it runs.
                self._known[key] = None
        return self._known[key]

    def _of_table(self, field: Field, origin: ColumnOrigin) -> Field:
        relation = origin.relation
        found = replace(field, table=relation_oid(relation), place=origin.place)
        if not isinstance(relation, Table):
            return found
        column = relation.columns[origin.place - 1]
        length = text_lengths(relation).get(column.physical)
        if length is not None:
            text = text_field(field.name, length)
            return replace(found, oid=text.oid, modifier=text.modifier)
        if column.spelled in _SPELLED:
            return replace(found, oid=_SPELLED[column.spelled])
        if column.spelled == AS_WRITTEN:
            return replace(found, oid=JSON.oid)
        if column.declared is None or self._seen is None:
            return found
        number = UserDefinitions(self._seen).enum_number(column.declared)
        return found if number is None else replace(found, oid=number)
