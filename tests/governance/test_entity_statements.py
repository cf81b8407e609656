"""CREATE, ALTER, DROP, SHOW and DESCRIBE of entities say what declarations in YAML say."""

from __future__ import annotations

import pytest

import gateway
from gateway.dbapi.connection import Connection
from gateway.governance import entity_operations
from gateway.governance.declarations import read_declarations
from gateway.governance.entity_schema import read_entity

YAML = """
kind: process
name: daily-delays
every: 1 day
start: 2013-01-03T06:00
timezone: America/New_York
sql: INSERT INTO delays SELECT day, sum(delay) FROM flights GROUP BY day
tags: [night, sums]
retry: {policy: periodic, delay: 10 minutes, attempts: 3}
inputs:
  - {dataset: flights, from: "yesterday(0, 0)", to: "yesterday(0, 0)"}
outputs:
  - {dataset: delays, instance: "yesterday(0, 0)"}
"""
PROCESS = """CREATE PROCESS daily-delays EVERY 1 DAY START '2013-01-03T06:00'
  TIME ZONE 'America/New_York'
  INPUT flights FROM 'yesterday(0, 0)' TO 'yesterday(0, 0)'
  OUTPUT delays AT 'yesterday(0, 0)'
  WITH (tags = ('night', sums), retry = (policy = periodic, delay = 10 MINUTES, attempts = 3))
  AS INSERT INTO delays SELECT day, sum(delay) FROM flights GROUP BY day"""


@pytest.fixture
def con() -> Connection:
    con = gateway.connect("palimpsest://", autocommit=True)
    for name in ("flights", "delays"):
        con.execute(f"CREATE TABLE {name} (day DATE, delay INTEGER)")
        con.execute(f"CREATE DATASET {name} ON TABLE {name} EVERY 1 DAY START '2013-01-01'")
    return con


def _row(con: Connection, statement: str) -> tuple[object, ...]:
    (row,) = con.execute(statement).fetchall()
    return tuple(row)


def test_sql_and_yaml_say_the_same(con: Connection) -> None:
    assert _row(con, PROCESS)[2:4] == ("SUBMITTED", 1)
    entities = [read_entity(one) for one in read_declarations(YAML, "p.yaml")]
    (result,) = con.client_session.perform(entity_operations.submit_entities, entities)
    assert result.outcome == "UNCHANGED", "a repeat in other words is one"
    assert _row(con, PROCESS)[2] == "UNCHANGED"


def test_a_process_is_changed_scheduled_shown_and_dropped(con: Connection) -> None:
    con.execute(PROCESS)
    alter = "ALTER PROCESS daily-delays "
    assert _row(con, alter + "SET (timeout = 2 HOURS)")[2:4] == ("UPDATED", 2)
    told = dict(con.execute("DESCRIBE PROCESS daily-delays").fetchall())
    assert (told["timeout"], told["state"]) == ("2 HOURS", "SUBMITTED")
    assert _row(con, alter + "UNSET (timeout)")[3] == 3
    states = [_row(con, alter + verb)[4] for verb in ("SCHEDULE", "SUSPEND", "RESUME")]
    assert states == ["SCHEDULED", "SUSPENDED", "SCHEDULED"]
    assert [row[0] for row in con.execute("SHOW PROCESSES").fetchall()] == ["daily-delays"]
    assert len(con.execute("SHOW DATASETS").fetchall()) == 2
    with pytest.raises(gateway.Error, match="daily-delays"):
        con.execute("DROP DATASET flights")
    assert _row(con, "DROP PROCESS daily-delays")[2] == "DELETED"
    assert _row(con, "DROP PROCESS IF EXISTS daily-delays")[2] == "UNCHANGED"


def test_what_is_there_is_kept_or_replaced_as_the_statement_says(con: Connection) -> None:
    other = "DATASET {} flights ON TABLE flights EVERY 1 DAY START '2013-01-01' OWNER ann"
    with pytest.raises(gateway.Error, match="exists already"):
        con.execute("CREATE " + other.format(""))
    assert _row(con, "CREATE " + other.format("IF NOT EXISTS"))[2] == "UNCHANGED"
    assert _row(con, "CREATE OR REPLACE " + other.format(""))[2:4] == ("UPDATED", 2)


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("CREATE DATASET d ON TABLE flights EVERY 1 DAY\nSTART 'soon'", "line 2, column 1"),
        ("CREATE PROCESS p EVERY 1 DAY START '2013-01-01' WITH (speed = 9) AS SELECT 1", "speed"),
        ("CREATE PROCESS p EVERY 1 DAY START '2013-01-01' SOON", 'near "SOON"'),
        ("CREATE PROFILE p URL 'palimpsest:///w' URL 'palimpsest:///v'", "stands twice"),
        ("CREATE PROFILE p", "lacks the field url"),
        ("ALTER PROCESS nothing SCHEDULE", "nothing does not exist"),
        ("ALTER DATASET flights UNSET (owner)", "states no owner"),
        ("ALTER DATASET flights DANCE", "near"),
        ("DESCRIBE PROCESS nothing", "does not exist"),
    ],
)
def test_errors_say_what_and_where(con: Connection, statement: str, said: str) -> None:
    with pytest.raises(gateway.Error) as raised:
        con.execute(statement)
    assert said in str(raised.value)


def test_a_declaration_is_no_part_of_a_transaction_that_wrote(con: Connection) -> None:
    con.execute("BEGIN")
    con.execute("INSERT INTO flights VALUES (DATE '2013-01-01', 1)")
    with pytest.raises(gateway.Error, match="COMMIT or ROLLBACK"):
        con.execute("DROP DATASET flights")
    con.execute("ROLLBACK")
    con.execute("SET default_transaction_read_only = on")
    with pytest.raises(gateway.Error):
        con.execute("DROP DATASET flights")
