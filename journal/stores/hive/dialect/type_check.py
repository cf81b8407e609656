"""Checks the types of a query by the gateway's rules, where Apache Hive's differ.

The query is bound in DuckDB over relations without rows, before the server is asked: what cannot be
compared is an error, and instants, which Hive has as timestamps, are told from those. Runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from journal.local_engine.session import DuckDBSession
from journal.model.errors import Code, PalimpsestError
from journal.model.plan import Query
from journal.model.result_column import ResultColumn
from journal.model.schema import Table, fold
from journal.model.store_session import Parameters
from journal.sql.relations import ident
from journal.sql.row_layout import fields_of, journal_fields
from journal.stores.hive.dialect.apache_checks import refused
from journal.stores.hive.dialect.apache_nested import check_use, is_nested
from journal.stores.hive.dialect.types import HiveType, kind_of, spark_type
from journal.stores.hive.queries import is_cte, renamed
from journal.stores.hive.tiers import SeenTiers

_PREFIX = "typed_"
_MOMENTS = {
    *(exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIME),
    *(exp.DType.TIMESTAMPNTZ, exp.DType.BOOLEAN),
}
_INSTANT = "TIMESTAMP WITH TIME ZONE"
_WITHOUT_MEMBERS = frozenset({"array", "map", "struct"})


def bound(
    local: DuckDBSession,
    tiers: SeenTiers,
    is_local: Callable[[str], bool],
    query: Query,
    parameters: Parameters,
) -> list[ResultColumn] | None:
    """The columns of a query; None if it reads what only the server knows. Raises BIND and such."""
    found, names = renamed(query, _PREFIX)
    ours = {f"{_PREFIX}{name}" for name in names}
    for table in found.ast.find_all(exp.Table):
        if table.db or not (table.name in ours or is_cte(table) or is_local(fold(table.name))):
            return None
    seen = {name: tiers.find(name) for name in names}
    if None in seen.values():
        return None
    _check_kinds(found.ast, [tier[0] for tier in seen.values() if tier is not None])
    # DuckDB takes no relation while a result waits to be read on.
    local.text("SELECT 1")
    for name, tier in seen.items():
        assert tier is not None
        nulls = [
            exp.alias_(exp.cast(exp.Null(), kind, dialect="duckdb"), ident(column))
            for column, kind in journal_fields(tier[0], fields_of(tier[0]))
        ]
        view = exp.Create(
            this=exp.to_table(f"{_PREFIX}{name}"),
            kind="VIEW",
            replace=True,
            properties=exp.Properties(expressions=[exp.TemporaryProperty()]),
            expression=exp.select(*nulls).where(exp.false()),
        )
        local.execute(Query(view, ()), {})
    return local.describe(found, parameters)


_Kinds = dict[str, set[exp.DType]]
_BYTES = {exp.DType.VARBINARY, exp.DType.BINARY, exp.DType.BLOB}


def _kinds_by_name(ast: exp.Expr, tables: Sequence[Table]) -> _Kinds:
    """The types that a column of some name may have, under what it is renamed to as well."""
    found: _Kinds = {}
    for table in tables:
        named = [(c.name, c.type) for c in table.columns]
        for name, kind in [*journal_fields(table, fields_of(table)), *named]:
            of = exp.DataType.build(kind, dialect="duckdb").this
            assert isinstance(of, exp.DType)
            found.setdefault(fold(name), set()).add(of)
    aliases = list(ast.find_all(exp.Alias))
    for _ in aliases:
        before = sum(map(len, found.values()))
        for alias in aliases:
            found.setdefault(fold(alias.alias), set()).update(_kinds_in(alias.this, found))
        if sum(map(len, found.values())) == before:
            break
    return found


def _kinds_in(node: exp.Expr, kinds: _Kinds) -> set[exp.DType]:
    return {kind for c in node.find_all(exp.Column) for kind in kinds.get(fold(c.name), ())}


def _check_kinds(ast: exp.Expr, tables: Sequence[Table]) -> None:
    """Raise where an instant would become a text, bytes too, a text be read as a moment, or Hive
    would work on nested values."""
    kinds = _kinds_by_name(ast, tables)
    check_use(ast, kinds)
    for node in ast.find_all(exp.Cast, exp.DPipe):
        is_text = not isinstance(node, exp.Cast) or node.to.this in exp.DataType.TEXT_TYPES
        if is_text and exp.DType.TIMESTAMPTZ in _kinds_in(node, kinds):
            raise refused("an instant as text")
        if isinstance(node, exp.DPipe) and _kinds_in(node, kinds) & _BYTES:
            raise refused("bytes put together")
    for compared in ast.find_all(exp.Predicate):
        if not isinstance(compared, exp.Binary):
            continue
        sides = [_kinds_in(side, kinds) for side in (compared.left, compared.right)]
        if all(sides) and _may_be_read(*sides):
            raise refused("texts of one column read as moments beside those of another")


def _may_be_read(left: set[exp.DType], right: set[exp.DType]) -> bool:
    """True if there may be texts on one side, and what they are taken for on the other."""
    both = left | right
    if len(both) == 1:
        return False
    return any(
        a & exp.DataType.TEXT_TYPES and b & _MOMENTS for a, b in ((left, right), (right, left))
    )


def kinds_told(told: Sequence[str], known: Sequence[str]) -> list[HiveType]:
    """The types of a result as Apache Hive tells them, which describes no queries.

    ``known`` are the canonical types of its columns, or none.
    """
    ours: Sequence[str | None] = known or [None] * len(told)
    return [_kind_told(kind, name) for kind, name in zip(told, ours, strict=True)]


def _kind_told(told: str, known: str | None) -> HiveType:
    """A type as the server tells it, to which nested values are texts, and instants timestamps."""
    if known is not None and is_nested(known):
        return kind_of(spark_type(known).lower())
    if told in _WITHOUT_MEMBERS:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            "Apache Hive does not tell the types of nested values",
            advice="name the members to be read, or write them as text",
        )
    found = kind_of(told)
    is_instant = known == _INSTANT and found == kind_of("timestamp_ntz")
    return kind_of("timestamp") if is_instant else found


def check_zone(zone: str | None) -> None:
    """Raise where Apache Hive, which has no instants, could take a time for another."""
    if zone not in {None, "UTC"}:
        raise PalimpsestError(
            Code.NOT_SUPPORTED,
            f"Apache Hive answers in UTC, and the session's time zone is {zone}",
            advice="SET TIME ZONE 'UTC', or raise held_rows in the URL",
        )
