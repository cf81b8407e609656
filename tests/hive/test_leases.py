"""Leases and their fencing tokens, over a catalog alone: no server of the store is asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from journal.local_engine.database_file import IN_MEMORY, DuckDBStore
from journal.model.errors import Code, PalimpsestError
from journal.model.wall_clock import wall_clock_us
from journal.stores.hive.catalog_db import catalog as rows_of
from journal.stores.hive.catalog_db.engine import CatalogDatabase
from journal.stores.hive.catalog_db.opening import open_catalog
from journal.stores.hive.leases import HeldLeases, Leases


@pytest.fixture
def local(tmp_path: Path) -> Iterator[DuckDBStore]:
    found = DuckDBStore(IN_MEMORY, {"temp_directory": str(tmp_path / "spilled")})
    yield found
    found.close()


@pytest.fixture
def catalog(tmp_path: Path, local: DuckDBStore) -> CatalogDatabase:
    found = CatalogDatabase(f"sqlite:///{tmp_path}/catalog.db")
    with found.writing() as connection:
        open_catalog(connection, "store", local)
    return found


def test_a_lease_is_waited_for_and_given_on(catalog: CatalogDatabase) -> None:
    leases = Leases(catalog, wall_clock_us)
    order: list[str] = []
    started = threading.Event()

    def second() -> None:
        started.set()
        with leases.holding(["table:1"]):
            order.append("second")

    with leases.holding(["table:1"]):
        thread = threading.Thread(target=second)
        thread.start()
        started.wait()
        time.sleep(0.1)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_lease_that_is_renewed_outlives_its_duration(catalog: CatalogDatabase) -> None:
    leases = Leases(catalog, wall_clock_us, 0.3)
    with leases.holding(["table:1"]) as held:
        time.sleep(0.9)
        with catalog.writing() as connection:
            held.check(connection)
            now = wall_clock_us()
            assert rows_of.is_held_by_another(connection, "table:1", "", now)


def test_who_overslept_its_lease_commits_nothing(catalog: CatalogDatabase) -> None:
    paused = HeldLeases(Leases(catalog, wall_clock_us, 0.1))
    paused.take("table:1")
    other = HeldLeases(Leases(catalog, wall_clock_us, 60.0))
    other.take("table:1")
    with pytest.raises(PalimpsestError) as failed, catalog.writing() as connection:
        paused.check(connection)
    assert failed.value.code is Code.SERIALIZATION
    assert not paused.renew()
    paused.release()
    with catalog.writing() as connection:
        other.check(connection)


def test_a_lease_that_ended_and_nobody_took_still_holds(catalog: CatalogDatabase) -> None:
    held = HeldLeases(Leases(catalog, wall_clock_us, 0.01))
    held.take("table:1")
    time.sleep(0.05)
    with catalog.writing() as connection:
        held.check(connection)


def test_two_catalogs_of_one_name_are_one(tmp_path: Path, local: DuckDBStore) -> None:
    ids = set()
    for store_id in ("first", "second"):
        catalog = CatalogDatabase(f"sqlite:///{tmp_path}/catalog.db")
        with catalog.writing() as connection:
            ids.add(open_catalog(connection, store_id, local))
        catalog.close()
    assert ids == {"first"}


@pytest.mark.parametrize("url", ["sqlite://", "nonsense", "sqlite:///:memory:"])
def test_what_is_no_catalog_is_refused(url: str) -> None:
    with pytest.raises(PalimpsestError) as failed:
        CatalogDatabase(url)
    assert failed.value.code is Code.URL


def test_a_catalog_that_cannot_be_opened_says_so(tmp_path: Path) -> None:
    catalog = CatalogDatabase(f"sqlite:///{tmp_path}/missing/catalog.db")
    with pytest.raises(PalimpsestError) as failed, catalog.writing():
        pass
    assert failed.value.code is Code.FILE_ACCESS
    assert "missing/catalog.db" in str(failed.value)
