"""Rows of small commits as a catalog keeps them: they come back exactly, and only what is new."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from journal.model.schema import Column, JournalFormat, Table, TableName
from journal.model.segment import Manifest, RowCounts
from journal.model.store_session import MemoryRows
from journal.records.catalog import create_catalog
from journal.records.catalog_format import JournalRow
from journal.records.schema import OF_HIVE_CATALOG
from journal.stores.hive.catalog_db.engine import CatalogConnection, CatalogDatabase
from journal.stores.hive.catalog_db.inlined import add_rows, load_rows, remove_rows
from journal.transactions.inlined_rows import NOTHING_INLINED
from journal.transactions.plain_rows import Row, in_memory
from journal.transactions.state import TableState

TABLE = Table(
    id=1,
    name=TableName("main", "t"),
    columns=(Column("k", "k", "INTEGER", not_null=True), Column("v", "v", "VARCHAR")),
    key=("k",),
    format=JournalFormat(),
)
TYPES = (
    "true AS b, 1::TINYINT AS i, 2::HUGEINT AS h, 1.25::DECIMAL(9, 2) AS d, 'nan'::DOUBLE AS x,"
    " DATE '0001-01-01' AS day, TIMESTAMP '2024-02-29 12:00:00.000001' AS at,"
    " TIMESTAMPTZ '2024-02-29 12:00:00+02' AS moment, 'Zaphod' AS name, ''::BLOB AS raw,"
    " uuid() AS u, '{\"a\": 1}'::JSON AS j, [1, NULL] AS list, {'a': 1, 'b': 'x'} AS s,"
    " MAP {'k': 2} AS m, NULL::VARCHAR AS nothing"
)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[CatalogConnection]:
    """A new catalog, inside a transaction."""
    database = CatalogDatabase(f"sqlite:///{tmp_path / 'catalog.db'}")
    with database.writing() as connection:
        create_catalog(connection, OF_HIVE_CATALOG)
        yield connection
    database.close()


def _found(counts: RowCounts) -> JournalRow:
    return JournalRow(1, Manifest(1, ()), 0, counts)


def _row(key: int, version: int, ended: int | None = None) -> MemoryRows:
    return in_memory(TABLE, [((key, f"v{version}"), version, ended)])


def test_every_type_comes_back_as_it_was(catalog: CatalogConnection) -> None:
    rows = duckdb.connect().sql(f"SELECT {TYPES}").to_arrow_table()
    fields = tuple((name, "VARCHAR") for name in rows.column_names)
    kept = MemoryRows(rows, RowCounts(open=1), fields)
    add_rows(catalog, 1, kept, 5, 7)
    loaded = load_rows(catalog, _found(kept.counts))
    (piece,) = loaded.pieces
    assert piece.rows.schema.equals(rows.schema)
    assert piece.rows.to_pylist()[0] | {"x": 0} == rows.to_pylist()[0] | {"x": 0}
    assert (piece.fields, piece.counts) == (fields, kept.counts)
    assert (loaded.first, loaded.oldest, loaded.last) == (5, 7, 7)


def test_only_what_is_new_is_read_until_some_are_removed(catalog: CatalogConnection) -> None:
    state = TableState(Manifest(1, ()), 0, RowCounts(), (TABLE,))
    for version in range(1, 9):
        add_rows(catalog, 1, _row(version, version), version, version)
        rows = load_rows(catalog, _found(RowCounts(open=version)), state)
        state = state.with_inlined(rows, version)
    assert len(state.inlined.pieces) == 8
    assert state.inlined.newest(TABLE, (3,)) == Row(3, (3, "v3"))
    remove_rows(catalog, 1, 6)
    left = load_rows(catalog, _found(RowCounts(open=2)), state)
    assert (left.oldest, left.last, left.counts.total) == (7, 8, 2)
    assert left.newest(TABLE, (3,)) is None
    assert load_rows(catalog, _found(RowCounts()), state) is NOTHING_INLINED
    # What somebody has seen stays as it was.
    assert state.inlined.counts.total == 8
    with pytest.raises(Exception, match="holds 2 inlined rows of journal 1, not 3"):
        load_rows(catalog, _found(RowCounts(open=3)), state)


def test_the_newest_row_of_a_key_counts() -> None:
    rows = NOTHING_INLINED.appended(_row(1, 1), 1, 1).appended(_row(1, 1, 2), 2, 2)
    rows = rows.appended(_row(1, 2), 2, 2).appended(_row(1, 2, 3), 3, 3)
    assert rows.newest(TABLE, (1,)) == Row(2, (1, "v2"))
    deleted = rows.appended(in_memory(TABLE, [((1, "v2"), 3, 3)]), 3, 3)
    assert deleted.newest(TABLE, (1,)) == Row(3, None)
    unknown = replace(TABLE, key=("v",), columns=(replace(TABLE.columns[0], type="HUGEINT"),))
    with pytest.raises(KeyError):
        deleted.newest(unknown, (1,))
