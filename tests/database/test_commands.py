"""The command line on a PostgreSQL database: what each command needs of the store."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from gateway.cli import main
from gateway.dbapi.connection import Connection

pytestmark = pytest.mark.stores


def _done(url: str, *words: str) -> str:
    found = CliRunner().invoke(main, [*words, "-w", url])
    assert found.exit_code == 0, found.output
    return found.output


def test_the_log_of_a_table(con: Connection, url: str) -> None:
    con.execute('CREATE TABLE "Two.words" (id INTEGER PRIMARY KEY); CREATE TABLE t (id INTEGER)')
    con.execute('INSERT INTO "Two.words" VALUES (1)')
    con.execute("INSERT INTO t VALUES (1)")
    for name in ('"two.words"', 'public."Two.words"'):
        (found,) = json.loads(_done(url, "log", name, "--json"))
        assert found["tables"] == ["public.Two.words"]
    assert json.loads(_done(url, "log", "nowhere", "--json")) == []


def test_rows_go_to_a_parquet_file(con: Connection, url: str, tmp_path: Path) -> None:
    con.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v VARCHAR, d DECIMAL(9,2))")
    con.execute("INSERT INTO t VALUES (1, 'x', 1.50), (2, NULL, NULL)")
    file = tmp_path / "t.parquet"
    _done(url, "export", "t", str(file))
    assert pq.read_table(file).column("v").to_pylist() == ["x", None]


def test_a_database_is_made_ready(url: str) -> None:
    for _ in range(2):
        done = CliRunner().invoke(main, ["init", url, "--json"])
        assert (done.exit_code, json.loads(done.output)["url"]) == (0, url)
