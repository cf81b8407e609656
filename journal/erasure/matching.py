"""Builds queries for the keys of rows that name a person.

Rows are looked at in the columns they were written with, so an identifier is found in any version,
also in a column that was dropped since. Works in every store; changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc
from sqlglot import exp

from journal.erasure.erasure_spec import Subjects
from journal.identity.descriptor import EVERY_ROW, DescriptorEntry, is_in
from journal.identity.identifiers import IdentifierForm, normal, numbers_of, texts_of
from journal.identity.paths import leaf_type, values_sql
from journal.local_engine import layout
from journal.model.lazy_dataclass import dataclass
from journal.model.plan import Query
from journal.model.schema import Table
from journal.model.segment import Fields
from journal.model.store_session import StoreSession
from journal.sql.relations import column, ident

_SMALL = (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT)
_BIGINT_LETTERS = len(str(-(2**63)))
_SMALL_UNSIGNED = (exp.DType.UTINYINT, exp.DType.USMALLINT, exp.DType.UINT)
_KNOWN = "_known"


def distinct_keys(found: Iterable[pa.Table]) -> pa.Table | None:
    """All keys that were found, once each; None if there are none."""
    keys = [k for k in found if k.num_rows]
    if not keys:
        return None
    every = pa.concat_tables(keys, promote_options="permissive")
    schema = every.schema
    # Arrow groups by no type that is not its own, as that of UUIDs, but by what stands for it.
    bare = pa.table({f.name: _stored(every.column(f.name)) for f in schema})
    once = bare.group_by(bare.column_names).aggregate([])
    return pa.table({f.name: _as_shown(once.column(f.name), f.type) for f in schema}, schema=schema)


def keys_without(keys: pa.Table | None, others: Iterable[pa.Table]) -> pa.Table | None:
    """Keys, once each, that are not among others; None if all of them are."""
    others = [k.select(keys.column_names) for k in others] if keys is not None else []
    if keys is None or not others:
        return keys
    marked = [keys.append_column(_KNOWN, pa.array([0] * keys.num_rows, pa.int8()))]
    marked += [k.append_column(_KNOWN, pa.array([1] * k.num_rows, pa.int8())) for k in others]
    every = pa.concat_tables(marked, promote_options="permissive")
    bare = pa.table({f.name: _stored(every.column(f.name)) for f in every.schema})
    once = bare.group_by(keys.column_names).aggregate([(_KNOWN, "max")])
    left = once.filter(pc.equal(once.column(f"{_KNOWN}_max"), 0))
    if not left.num_rows:
        return None
    kinds = {f.name: f.type for f in every.schema}
    return pa.table({n: _as_shown(left.column(n), kinds[n]) for n in keys.column_names})


def _stored(values: pa.ChunkedArray) -> pa.ChunkedArray:
    if not isinstance(values.type, pa.BaseExtensionType):
        return values
    return pa.chunked_array([c.storage for c in values.chunks], values.type.storage_type)


def _as_shown(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if not isinstance(kind, pa.BaseExtensionType):
        return values
    return pa.chunked_array([pa.ExtensionArray.from_storage(kind, c) for c in values.chunks], kind)


def shown_keys(table: Table, name: str) -> exp.Select:
    """The keys of relation ``name`` in the types they have now."""
    return shown_as({k: table.by_physical(k).type for k in table.key}, name)


def shown_as(kinds: Mapping[str, str], name: str) -> exp.Select:
    """The columns of relation ``name``, of values from outside the store, in these types."""
    typed = [(exp.cast(column(c), kind, dialect="duckdb"), c) for c, kind in kinds.items()]
    return exp.select(*[exp.alias_(value, ident(c)) for value, c in typed]).from_(name)


@dataclass(slots=True)
class Matcher:
    """Collects keys of one table, over as many relations as are given.

    ``form`` is that in which identifiers are compared, in SQL that suits the store.
    """

    session: StoreSession
    table: Table
    identities: Sequence[DescriptorEntry]
    subjects: Subjects
    keys: list[pa.Table] = field(default_factory=list)
    form: IdentifierForm = normal
    _shown: int = 0

    def present(self, fields: Fields) -> list[DescriptorEntry]:
        """The identities in question that rows with these columns have."""
        if EVERY_ROW in self.identities:
            return [EVERY_ROW]
        held = dict(fields)
        return [i for i in self.identities if self.subjects.get(i.type) and is_in(i, held)]

    def rows(self, source: exp.Expr, fields: Fields) -> None:
        """Look through a relation of journal rows that were written in these columns."""
        for identity in self.present(fields):
            self.match(source, fields, identity, sealed=False)

    def values(self, identity: DescriptorEntry, fields: Fields) -> pa.Array | None:
        """What is looked for, in the type of the column; None where only text can be compared."""
        if identity is EVERY_ROW:
            return None
        kind = exp.DataType.build(dict(fields)[identity.path.root], dialect="duckdb")
        leaf = leaf_type(kind, identity.path)
        named = self.subjects[identity.type]
        if leaf is not None and leaf.is_type(*_SMALL, *_SMALL_UNSIGNED):
            numbers = [int(n) for n in numbers_of(named) if len(n) <= _BIGINT_LETTERS]
            return pa.array([n for n in numbers if -(2**63) <= n < 2**63], pa.int64())
        if leaf is not None and leaf.is_type(exp.DType.TEXT, exp.DType.VARCHAR):
            return pa.array(texts_of(named, identity.normaliser), pa.string())
        return None

    def match(
        self, source: exp.Expr, fields: Fields, identity: DescriptorEntry, *, sealed: bool
    ) -> None:
        """Collect the keys of the rows in which an identity is one of the subjects."""
        if identity is EVERY_ROW:
            keys = key_outputs(self.table, fields, "p", sealed=sealed)
            every = exp.select(*keys).distinct().from_(exp.alias_(source, "p", table=True))
            self._collect(every)
            return
        values = self.values(identity, fields)
        number = values is not None and pa.types.is_integer(values.type)
        if values is None:
            named = self.subjects[identity.type]
            texts = {*texts_of(named, identity.normaliser), *numbers_of(named)}
            values = pa.array(sorted(texts), pa.string())
        self._shown += 1
        name = f"erase_subjects_{self.table.id}_{self._shown}"
        self.session.show_arrow(name, pa.table({"v": values}))
        value = values_sql(identity.path, "p")
        if identity.path.is_list:
            value = exp.Anonymous(this="unnest", expressions=[value])
        keys = key_outputs(self.table, fields, "p", sealed=sealed)
        rows = exp.select(*keys, exp.alias_(value, ident("_v")))
        rows = rows.from_(exp.alias_(source, "p", table=True))
        held = column("_v", "r")
        compared = held if number else self.form(held, identity.normaliser)
        among = exp.select(exp.column("v")).from_(name)
        found = exp.select(*[column(k, "r") for k in self.table.key]).distinct()
        found = found.from_(rows.subquery("r")).where(
            exp.In(this=compared, query=among.subquery(copy=False))
        )
        self._collect(found)

    def _collect(self, found: exp.Select) -> None:
        table = self.session.arrow(Query(found, ()), {})
        if table.num_rows:
            self.keys.append(table)


def key_outputs(table: Table, fields: Fields, of: str, *, sealed: bool) -> list[exp.Expr]:
    """A table's key columns in their present types, out of rows written with ``fields``."""
    written = dict(fields)
    outputs: list[exp.Expr] = []
    for name in table.key:
        value: exp.Expr = column(name, of)
        if sealed and layout.parquet_type(written[name]) != written[name]:
            value = exp.cast(value, written[name], dialect="duckdb")
        present = table.by_physical(name).type
        if written[name] != present:
            value = exp.cast(value, present, dialect="duckdb")
        outputs.append(exp.alias_(value, ident(name)))
    return outputs
