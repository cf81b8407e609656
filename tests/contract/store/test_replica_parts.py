"""One table of several sources at a target: a part of each, and a view of all (F40)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.dbapi.connection import Connection
from gateway.procedures.replicas import demote_replica, promote_replica
from gateway.session.operations import no_progress
from journal.model.errors import Code
from tests.support.replicated import (
    last_version,
    purge_one,
    replica_rows,
    replicated,
    replication,
    rows,
    submit_erasure,
)
from tests.support.stores.store import Capability, Store

pytestmark = [
    pytest.mark.needs(Capability.REPLICAS),
    pytest.mark.also_on("hive", "postgres"),
    pytest.mark.timeout(900),
]

ORDERS = "shop.orders"
ALL = "SELECT * FROM shop.orders ORDER BY region, id"


@pytest.fixture
def zurich(store: Store) -> Iterator[Connection]:
    with store.connect() as connection:
        yield connection


@pytest.fixture
def berlin(third_store: Store) -> Iterator[Connection]:
    with third_store.connect() as connection:
        yield connection


@pytest.fixture
def office(other_store: Store) -> Iterator[Connection]:
    with other_store.connect() as connection:
        yield connection


def _with_orders(shop: Connection, office: Store, city: str, columns: str = "") -> None:
    """A table of orders, which is to be a part of those of the head office."""
    shop.execute("CREATE SCHEMA shop")
    shop.execute(
        f"CREATE TABLE shop.orders (id INTEGER PRIMARY KEY, email VARCHAR{columns})"
        " WITH (erasure = 'email AS email LOWER')"
    )
    values = f"(1, '{city}@x.org'), (2, 'both@x.org')"
    shop.execute(f"INSERT INTO shop.orders (id, email) VALUES {values}")
    shop.execute(f"CREATE PROFILE office URL '{office.url}'")
    _state(shop, city)


def _state(shop: Connection, city: str, by: str = "region") -> None:
    clause = f"TO 'office', PARTITION ({by} = '{city}')"
    shop.execute(f"ALTER TABLE shop.orders SET POLICY (REPLICATION = ({clause}))")


def _to_office(shop: Connection) -> dict[str, object]:
    return replicated(shop, "office", ORDERS)


def _refused(shop: Connection, said: str) -> None:
    run = replication(shop, "office", ORDERS)
    assert run.error is not None
    assert run.error.code is Code.REPLICATION
    assert said in run.error.message


@pytest.mark.long
def test_f40_the_target_shows_one_table_and_each_source_erases_in_its_part(
    zurich: Connection, berlin: Connection, office: Connection, other_store: Store
) -> None:
    for shop, city in ((zurich, "zurich"), (berlin, "berlin")):
        _with_orders(shop, other_store, city)
        assert _to_office(shop)["made"]
    both = [
        (1, "berlin@x.org", "berlin"),
        (2, "both@x.org", "berlin"),
        (1, "zurich@x.org", "zurich"),
        (2, "both@x.org", "zurich"),
    ]
    assert rows(office, ALL) == both
    assert rows(office, "SELECT id FROM shop.orders_zurich ORDER BY id") == [(1,), (2,)]
    assert not _to_office(zurich)["changed"]
    before = last_version(office)
    submit_erasure(zurich, "both@x.org")
    purge_one(zurich)
    zurich.execute("INSERT INTO shop.orders VALUES (3, 'new@x.org')")
    assert rows(office, ALL) == both
    _to_office(zurich)
    assert rows(office, ALL) == [*both[:3], (3, "new@x.org", "zurich")]
    past = ALL.replace("shop.orders", f"shop.orders VERSION AS OF {before}")
    assert rows(office, past) == both[:3]
    office.execute("CALL system.verify('shop.orders_zurich')")


@pytest.mark.long
def test_f40_a_part_is_promoted_alone_and_followed_back_as_a_whole_table(
    zurich: Connection, berlin: Connection, office: Connection, store: Store, other_store: Store
) -> None:
    for shop, city in ((zurich, "zurich"), (berlin, "berlin")):
        _with_orders(shop, other_store, city)
        _to_office(shop)
    promote_replica(office.session, no_progress, "shop.orders_zurich")
    office.execute("INSERT INTO shop.orders_zurich VALUES (9, 'there@x.org')")
    berlin.execute("INSERT INTO shop.orders VALUES (4, 'b4@x.org')")
    _to_office(berlin)
    shown = "SELECT id, region FROM shop.orders WHERE id > 2 ORDER BY id"
    assert rows(office, shown) == [(4, "berlin"), (9, "zurich")]
    demote_replica(zurich.session, no_progress, ORDERS)
    replicated(office, store.url, "shop.orders_zurich")
    assert rows(zurich, "SELECT id FROM shop.orders ORDER BY id") == [(1,), (2,), (9,)]
    promote_replica(zurich.session, no_progress, ORDERS)
    zurich.execute("INSERT INTO shop.orders VALUES (10, 'again@x.org')")
    demote_replica(office.session, no_progress, "shop.orders_zurich")
    _state(zurich, "zurich")
    assert not _to_office(zurich)["made"]
    found = rows(office, "SELECT id FROM shop.orders WHERE region = 'zurich' ORDER BY id")
    assert found == [(1,), (2,), (9,), (10,)]


@pytest.mark.long
def test_f40_what_cannot_be_one_table_is_refused_or_shown_by_part(
    zurich: Connection, berlin: Connection, office: Connection, other_store: Store
) -> None:
    _with_orders(zurich, other_store, "zurich")
    _to_office(zurich)
    _with_orders(berlin, other_store, "Zurich", ", note VARCHAR")
    _refused(berlin, "of another source")
    _state(berlin, "berlin", by="place")
    _refused(berlin, "told by")
    _state(berlin, "berlin")
    _refused(berlin, "differ in note")
    assert not replica_rows(berlin)
    zurich.execute("ALTER TABLE shop.orders ADD COLUMN note VARCHAR")
    _to_office(zurich)
    _to_office(berlin)
    assert rows(office, "SELECT count(*) FROM shop.orders") == [(4,)]
    # Erasures reach a part also where the view cannot show it with the others.
    berlin.execute("ALTER TABLE shop.orders ADD COLUMN region VARCHAR")
    submit_erasure(berlin, "both@x.org")
    (told,) = _to_office(berlin)["notes"]  # type: ignore[misc]
    assert "a column region of its own" in told
    assert rows(office, "SELECT id FROM shop.orders_berlin") == [(1,)]
    assert rows(office, "SELECT count(*) FROM shop.orders_zurich") == [(2,)]
    run = [name for (name,) in rows(office, "SELECT table_name FROM information_schema.views")]
    assert "orders" not in run
    berlin.execute("ALTER TABLE shop.orders DROP COLUMN region")
    _to_office(berlin)
    assert rows(office, "SELECT count(*) FROM shop.orders") == [(3,)]
    _state(berlin, "oslo")
    _refused(berlin, "is the part (region = 'berlin')")


@pytest.mark.long
def test_f40_a_table_of_the_target_is_not_replaced_by_the_view(
    zurich: Connection, office: Connection, other_store: Store
) -> None:
    office.execute("CREATE SCHEMA shop")
    office.execute("CREATE TABLE shop.orders (id INTEGER PRIMARY KEY)")
    _with_orders(zurich, other_store, "zurich")
    _refused(zurich, "the target has another shop.orders")
    office.execute("DROP TABLE shop.orders")
    _to_office(zurich)
    office.execute("CREATE OR REPLACE VIEW shop.orders AS SELECT id FROM shop.orders_zurich")
    zurich.execute("INSERT INTO shop.orders VALUES (5, 'z5@x.org')")
    assert _to_office(zurich)["notes"]
    assert rows(office, "SELECT * FROM shop.orders ORDER BY id") == [(1,), (2,), (5,)]
    office.execute("DROP VIEW shop.orders")
    _to_office(zurich)
    assert rows(office, "SELECT region FROM shop.orders WHERE id = 5") == [("zurich",)]


@pytest.mark.long
def test_f40_who_is_erased_at_the_target_stays_out_of_all_parts(
    zurich: Connection, berlin: Connection, office: Connection, other_store: Store
) -> None:
    for shop, city in ((zurich, "zurich"), (berlin, "berlin")):
        _with_orders(shop, other_store, city)
        _to_office(shop)
    submit_erasure(office, "both@x.org")
    purge_one(office)
    left = [(1, "berlin@x.org", "berlin"), (1, "zurich@x.org", "zurich")]
    assert rows(office, ALL) == left
    for shop in (zurich, berlin):
        shop.execute("UPDATE shop.orders SET email = 'both@x.org' WHERE id = 2")
        shop.execute("INSERT INTO shop.orders VALUES (7, 'BOTH@x.org')")
        _to_office(shop)
        assert rows(shop, "SELECT count(*) FROM shop.orders") == [(3,)]
    assert rows(office, ALL) == left
