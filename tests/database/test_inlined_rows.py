"""Inlined rows of a Hive store whose catalog is in PostgreSQL; no Spark is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa
import pytest

from journal.model.segment import Manifest, RowCounts
from journal.model.store_session import MemoryRows
from journal.records.catalog import create_catalog
from journal.records.catalog_format import JournalRow
from journal.records.schema import LEASES, OF_HIVE_CATALOG, STATE
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from journal.stores.hive.catalog_db.inlined import add_rows, load_rows, remove_rows
from tests.support.postgres import Cluster

ROWS = MemoryRows(pa.table({"k": [1], "v": ["Zaphod"]}), RowCounts(open=1), (("k", "BIGINT"),))


@pytest.fixture
def catalog(cluster: Cluster, database: str) -> Iterator[CatalogDatabase]:
    """A new catalog in a database of its own."""
    place = re.sub("^postgresql", "postgresql+psycopg", cluster.conninfo(database))
    found = CatalogDatabase(place)
    with found.writing() as connection:
        create_catalog(connection, OF_HIVE_CATALOG)
    yield found
    found.close()


def test_rows_are_kept_and_leave_their_file(catalog: CatalogDatabase) -> None:
    row = JournalRow(1, Manifest(1, ()), 0, ROWS.counts)
    with catalog.writing(STATE, LEASES) as connection:
        assert not rows_of.are_held(connection, ["table:1"])
        add_rows(connection, 1, ROWS, 2, 3)
        assert load_rows(connection, row).pieces[0].rows.equals(ROWS.rows)
    with catalog.writing(STATE) as connection:
        rows_of.take_lease(connection, "table:1", "somebody", 5, 6)
        assert rows_of.are_held(connection, ["table:1", "table:2"])
        remove_rows(connection, 1, 3)
    size = "SELECT pg_relation_size('palimpsest_inlined_rows')"
    assert catalog.text(size) != [(0,)]
    catalog.scrub()
    assert catalog.text(size) == [(0,)]
