"""The session's time zone: how text and naive timestamps are read, and how instants are shown."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import gateway
from gateway.sharing.time_zone import process_zone
from journal.model.schema import fold
from tests.support.client import Client

NAIVE = "2024-01-01 12:00:00"


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path / "warehouse")
    client("SET timezone = 'UTC'")
    client("CREATE TABLE t (k INTEGER PRIMARY KEY, at TIMESTAMPTZ, naive TIMESTAMP)")
    yield client
    client.close()


def test_text_is_read_and_instants_are_shown_in_the_zone(run: Client) -> None:
    run("SET TIME ZONE 'America/New_York'")
    run(f"INSERT INTO t VALUES (1, '{NAIVE}', '{NAIVE}'), (2, '2024-07-01 00:00:00Z', NULL)")
    shown = "SELECT CAST(at AS VARCHAR) FROM t ORDER BY k"
    assert run(shown) == [("2024-01-01 12:00:00-05",), ("2024-06-30 20:00:00-04",)]
    run("SET timezone = 'UTC'")
    assert run(shown) == [("2024-01-01 17:00:00+00",), ("2024-07-01 00:00:00+00",)]
    assert run("SELECT at FROM t WHERE k = 1")[0][0] == datetime(2024, 1, 1, 17, tzinfo=UTC)
    assert run("SELECT naive FROM t WHERE k = 1")[0][0] == datetime.fromisoformat(NAIVE)


@pytest.mark.long
def test_one_transaction_under_two_zones(run: Client) -> None:
    run("BEGIN")
    run("SET timezone = 'Asia/Tokyo'")
    run(f"INSERT INTO t VALUES (1, '{NAIVE}', NULL)")
    run("SET timezone = 'UTC'")
    run(f"INSERT INTO t VALUES (2, '{NAIVE}', NULL)")
    run("UPDATE t SET at = at + INTERVAL 1 HOUR")
    run("COMMIT")
    shown = "SELECT CAST(at AS VARCHAR) FROM t ORDER BY k"
    assert run(shown) == [("2024-01-01 04:00:00+00",), ("2024-01-01 13:00:00+00",)]


@pytest.mark.long
def test_points_in_time_are_read_in_the_zone(run: Client) -> None:
    run(f"INSERT INTO t VALUES (1, '{NAIVE}', NULL)")
    moment = run(
        "SELECT CAST(CAST(max(committed_at) AS TIMESTAMP) AS VARCHAR) FROM system.transactions"
    )
    run("DELETE FROM t")
    past = f"SELECT k FROM t FOR SYSTEM_TIME AS OF TIMESTAMP '{moment[0][0]}'"
    assert run(past) == [(1,)]
    run("SET timezone = 'America/New_York'")
    # The same text names a moment five hours later there, when the row was gone.
    assert run(past) == []


def test_zone_of_one_connection_is_not_that_of_another(run: Client) -> None:
    other = Client(run.root)
    run("SET timezone = 'Asia/Tokyo'")
    other("SET timezone = 'UTC'")
    text = "SELECT CAST(CAST('2024-01-01 00:00:00Z' AS TIMESTAMPTZ) AS VARCHAR)"
    for _ in range(3):
        assert run(text) == [("2024-01-01 09:00:00+09",)]
        assert other(text) == [("2024-01-01 00:00:00+00",)]
    other.close()


@pytest.mark.parametrize(
    ("statement", "zone"),
    [
        ("SET timezone = '+02:00'", "Etc/GMT-2"),
        ("SET time_zone = '-05:00'", "Etc/GMT+5"),
        ("SET TIME ZONE 'Europe/Berlin'", "Europe/Berlin"),
        ("SET TIME ZONE LOCAL", process_zone()),
        ("SET TIME ZONE DEFAULT", process_zone()),
        ("RESET timezone", process_zone()),
    ],
)
def test_spellings(run: Client, statement: str, zone: str | None) -> None:
    run(statement)
    assert run("SHOW timezone") == [(zone,)]


@pytest.mark.parametrize(
    ("zone", "here"),
    [
        ("'UTC-05:00'", 17),
        ("'-05:00'", 17),
        ("'EST5'", 7),
        ("'-5'", 7),
        ("-5", 7),
        ("INTERVAL '-05:00' HOUR TO MINUTE", 7),
    ],
)
def test_signs_are_those_of_posix_for_postgresql(tmp_path: Path, zone: str, here: int) -> None:
    with gateway.connect(f"palimpsest:///{tmp_path}/w", dialect="postgres") as con:
        con.execute(f"SET TIME ZONE {zone}")
        query = "SELECT extract(hour FROM '2024-06-01 12:00+00'::timestamptz)"
        assert con.execute(query).fetchall() == [(here,)]
        with pytest.raises(gateway.Error, match="PAL-222"):
            con.execute("SET TIME ZONE 'UTC-05:30'")


def test_unknown_zone_is_refused_and_changes_nothing(run: Client) -> None:
    assert run.error("SET timezone = 'Nowhere/Town'")[1] == "22023"
    assert run("SHOW timezone") == [("UTC",)]


@pytest.mark.long
def test_use_names_the_schema(run: Client) -> None:
    run("CREATE SCHEMA s")
    for statement in (
        "USE s", "SET SCHEMA 's'", "USE SCHEMA s", "SET search_path = s",
        "USE palimpsest.s", 'USE "S"',
    ):  # fmt: skip
        run("RESET schema")
        run(statement)
        assert fold(run("SHOW schema")[0][0]) == "s"
        assert fold(run("SELECT current_schema()")[0][0]) == "s"
    run("CREATE VIEW v AS SELECT current_schema() AS here")
    for statement in ("USE nowhere", "USE palimpsest.nowhere", "USE other.s", "USE s.t"):
        assert run.error(statement)[1] == "3F000"
    run("USE palimpsest")
    assert run("SELECT current_schema(), here FROM s.v") == [("main", "main")]


@pytest.mark.parametrize(
    ("zone", "value"),
    [
        ("America/New_York", "TIMESTAMPTZ '0001-01-01 00:00:00+00'"),
        ("Europe/Berlin", "TIMESTAMPTZ '9999-12-31 23:59:59+00'"),
        ("UTC", "INTERVAL '100000000 years'"),
    ],
)
def test_values_that_python_has_not_are_refused_and_can_be_had_as_text(
    run: Client, zone: str, value: str
) -> None:
    run(f"SET timezone = '{zone}'")
    with pytest.raises(gateway.DataError, match=r"PAL-311.*too large or too small for Python"):
        run(f"SELECT {value}")
    assert len(run(f"SELECT CAST({value} AS VARCHAR)")) == 1
