"""Each store behind a server: all three protocols see and change the same rows."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal

import psycopg
import pytest
from pyhive import exc, hive

from tests.support.stores.store import Capability, Store
from tests.support.warm_python import warm_python

flight = pytest.importorskip("adbc_driver_flightsql.dbapi", reason="no driver of Flight SQL")
pytestmark = [pytest.mark.also_on("postgres", "hive"), pytest.mark.needs(Capability.ACCESS_CONTROL)]
ADA, GRACE = (1, "Ada", Decimal("1.50")), (2, "Grace", Decimal("2.50"))
_ROWS = "SELECT id, name, amount FROM t ORDER BY id"


@dataclass(frozen=True, slots=True)
class Ports:
    """Where a server listens."""

    postgres: int
    hive: int
    flight: str


@pytest.fixture
def ports(store: Store) -> Iterator[Ports]:
    with tempfile.TemporaryDirectory(prefix="palimpsest-") as folder:
        command = [warm_python(), "-m", "gateway.cli", "serve", store.url, "--trust-loopback"]
        places = [("--" + name, "127.0.0.1:0") for name in ("postgres", "hive", "flight")]
        options = [word for place in places for word in place]
        process = subprocess.Popen(
            [*command, "--socket-dir", folder, "--drain", "1", *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        found: dict[str, str] = {}
        while len(found) < 3:
            line = process.stdout.readline().strip()
            assert line, process.communicate()[1]
            if "127.0.0.1:" in line:
                found[line.partition("://")[0]] = line
        numbers = {
            kind: int(url.partition("127.0.0.1:")[2].partition("/")[0])
            for kind, url in found.items()
        }
        yield Ports(numbers["postgresql"], numbers["jdbc:hive2"], found["grpc"])
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.long
def test_all_front_ends_read_and_change_the_same_rows(ports: Ports) -> None:
    dsn = f"host=127.0.0.1 port={ports.postgres} user=me dbname=palimpsest"
    with (
        psycopg.connect(dsn, autocommit=True) as pg,
        hive.connect("127.0.0.1", ports.hive, username="me") as hs2,
        flight.connect(ports.flight, autocommit=True) as arrow,
        closing(hs2.cursor()) as of_hive,
        arrow.cursor() as of_flight,
    ):
        pg.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, amount DECIMAL(10, 2))")
        of_hive.execute("INSERT INTO default.t VALUES (1, 'Ada', 1.5)")
        of_flight.execute("INSERT INTO t VALUES (2, 'Grace', 2.0)")
        of_hive.execute("UPDATE t SET amount = 2.5 WHERE id = 2")
        of_flight.execute(_ROWS)
        assert of_flight.fetchall() == [ADA, GRACE]
        of_hive.execute(_ROWS)
        assert of_hive.fetchall() == [ADA, GRACE]
        assert pg.execute(_ROWS).fetchall() == [ADA, GRACE]
        of_flight.execute("SELECT name FROM t WHERE id = ?", (2,))
        assert of_flight.fetchall() == [("Grace",)]
        of_hive.execute("SHOW TABLES")
        assert of_hive.fetchall() == [("t",)]
        assert pg.execute("SELECT relname FROM pg_class WHERE relname = 't'").fetchall() == [("t",)]
        (catalog,) = arrow.adbc_get_objects(depth="tables").read_all().to_pylist()
        schemas = catalog["catalog_db_schemas"]
        names = [t["table_name"] for s in schemas for t in s["db_schema_tables"]]
        assert "t" in names
        with pytest.raises(exc.OperationalError) as duplicate:
            of_hive.execute("INSERT INTO t VALUES (1, 'again', 0)")
        assert duplicate.value.args[0].status.sqlState == "23505"
        with pytest.raises(flight.Error, match="SQLSTATE 23505"):
            of_flight.execute("INSERT INTO t VALUES (1, 'again', 0)")
        pg.execute("BEGIN")
        pg.execute("DELETE FROM t WHERE id = 1")
        of_hive.execute(_ROWS)
        assert of_hive.fetchall() == [ADA, GRACE]
        pg.execute("COMMIT")
        of_hive.execute(_ROWS)
        assert of_hive.fetchall() == [GRACE]


@pytest.mark.long
def test_spans_and_numbers_arrive_whole_over_flight(ports: Ports) -> None:
    with flight.connect(ports.flight, autocommit=True) as arrow, arrow.cursor() as cursor:
        cursor.execute("SELECT INTERVAL '13 months', 1.23456789::numeric")
        span, number = cursor.fetchall()[0]
        assert tuple(span) == (13, 0, 0)
        assert Decimal(number) == Decimal("1.23456789")
